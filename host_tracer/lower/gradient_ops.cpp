#include "host_tracer/lower/gradient_ops.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "host_tracer/record/lowering.h"
#include "host_tracer/record/op_args.h"

namespace lazyrt {
namespace {

GradientFormula find_in(const GradientFormulas& formulas, const std::string& name) {
  const auto it = formulas.find(name);
  return it == formulas.end() ? nullptr : it->second;
}

GradientFormula find_formula(const std::string& name) {
  if (name.find("_backward") == std::string::npos) {
    for (const GradientFormulas* formulas : {&loss_formulas(), &composed_formulas()}) {
      if (const GradientFormula found = find_in(*formulas, name)) return found;
    }
    return at::GradMode::is_enabled() ? find_in(moment_formulas(), name) : nullptr;
  }
  const GradientFormula pointwise = find_in(pointwise_gradients(), name);
  return pointwise ? pointwise : find_in(layer_gradients(), name);
}

}  // namespace

std::vector<at::Tensor> with_wide_floats(const RuleArgs& args, GradientFormula formula,
                                         std::initializer_list<at::ScalarType> narrow) {
  std::optional<at::ScalarType> type;
  const std::vector<c10::IValue> wide = args.map([&](const at::Tensor& t) {
    if (!t.defined() || std::ranges::find(narrow, t.scalar_type()) == narrow.end()) return t;
    if (!type) type = t.scalar_type();
    return at::_to_copy(t, at::kFloat);
  });
  if (!type) return formula(args);
  std::vector<at::Tensor> results = formula(args.with(wide));
  for (at::Tensor& result : results) {
    if (result.defined() && result.scalar_type() == at::kFloat)
      result = at::_to_copy(result, *type);
  }
  return results;
}

bool record_formula(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const std::optional<std::string> name = aten_name(op);
  const GradientFormula formula = name ? find_formula(*name) : nullptr;
  if (formula == nullptr) return false;
  const std::vector<c10::IValue> args = torch::jit::pop(*stack, op.schema().arguments().size());
  for (const at::Tensor& result : formula(RuleArgs(op, args))) stack->emplace_back(result);
  return true;
}

namespace {
thread_local int asked_for = 0;
}  // namespace

AskedFor::AskedFor() { ++asked_for; }
AskedFor::~AskedFor() { --asked_for; }
bool AskedFor::active() { return asked_for > 0; }

}  // namespace lazyrt
