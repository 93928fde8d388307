#include "host_tracer/record/caught_errors.h"

#include <ATen/ATen.h>
#include <ATen/ExpandUtils.h>
#include <ATen/native/TypeProperties.h>

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host_tracer/record/capture_session.h"
#include "host_tracer/record/lazy_backend.h"
#include "host_tracer/record/op_args.h"
#include "host_tracer/record/shape_rules.h"
#include "host_tracer/record/sync_ops.h"

namespace lazyrt {
namespace {

/// Eager raises unless `holds` is true everywhere; it certainly raises if the elements of the
/// operand `name` are `wrong`.
struct Demand {
  at::Tensor holds;
  std::string text;  ///< for people: what holds
  const char* name;
  int64_t wrong;
  size_t item = 0;  ///< its place where the operand is a list
};
using Demands = std::vector<Demand>;

at::Tensor operator&&(const at::Tensor& a, const at::Tensor& b) { return at::logical_and(a, b); }

// ---------------------------------------------------------------- places

enum class From : uint8_t { kBegin, kBothEnds };  ///< both: negative ones count from the end

Demand within(const at::Tensor& ids, int64_t size, From from, const char* name) {
  const at::Tensor wide = ids.scalar_type() == at::kLong ? ids : at::_to_copy(ids, at::kLong);
  return {at::ge(wide, from == From::kBegin ? 0 : -size) && at::lt(wide, size),
          "its indices lie within " + std::to_string(size), name, size};
}

int64_t size_of(const at::Tensor& t, int64_t dim) { return t.dim() == 0 ? 1 : t.size(dim); }

/// Places along `dim` of self.
template <From kFrom>
Demands along_dim(const RuleArgs& a) {
  const at::Tensor index = a.tensor("index");
  if (index.numel() == 0) return {};
  return {within(index, size_of(a.tensor("self"), a.integer("dim")), kFrom, "index")};
}

/// Places in self as it lies flat.
Demands in_all(const RuleArgs& a) {
  return {within(a.tensor("index"), a.tensor("self").numel(), From::kBothEnds, "index")};
}

Demands embedding(const RuleArgs& a) {
  const at::Tensor ids = a.tensor("indices");
  return {within(ids, a.tensor("weight").size(0), From::kBegin, "indices")};
}

/// x[i, :, j], masks left to what they become.
Demands index(const RuleArgs& a) {
  const at::Tensor self = a.tensor("self");
  const auto indices = a.at("indices").toOptionalTensorList();
  Demands demands;
  for (size_t i = 0; i < indices.size(); ++i) {
    const std::optional<at::Tensor> ids = indices.get(i);
    if (!ids || !ids->defined()) continue;
    if (!at::isIntegralType(ids->scalar_type(), /*includeBool=*/false) || ids->numel() == 0 ||
        ids->scalar_type() == at::kByte || static_cast<int64_t>(i) >= self.dim()) {
      return {};
    }
    const int64_t size = self.size(static_cast<int64_t>(i));
    demands.push_back(within(*ids, size, From::kBothEnds, "indices"));
    demands.back().item = i;
  }
  return demands;
}

Demands nll_loss(const RuleArgs& a) {
  const at::Tensor x = a.tensor("self"), target = a.tensor("target");
  const int64_t classes = x.size(x.dim() == 1 ? 0 : 1);
  Demand known = within(target, classes, From::kBegin, "target");
  known.holds = at::logical_or(known.holds, at::eq(target, a.integer("ignore_index")));
  if (known.wrong == a.integer("ignore_index")) ++known.wrong;
  return {std::move(known)};
}

Demands masked_scatter(const RuleArgs& a) {
  const at::Tensor self = a.tensor("self"), mask = a.tensor("mask");
  const int64_t given = a.tensor("source").numel();
  const auto sizes = at::infer_size(self.sizes(), mask.sizes());
  return {{at::le(at::sum(at::expand_copy(mask, sizes)), given),
           "the mask has at most " + std::to_string(given) + " true elements", "mask", 1}};
}

// ---------------------------------------------------------------- values

bool is_whole(const RuleArgs& a) {
  at::native::ResultTypeState state = {};
  for (const char* name : {"self", "other"}) {
    const c10::IValue& value = a.at(name);
    state = value.isTensor() ? at::native::update_result_type_state(value.toTensor(), state)
                             : at::native::update_result_type_state(
                                   at::native::wrapped_scalar_tensor(value.toScalar()), state);
  }
  return at::isIntegralType(at::native::result_type(state), /*includeBool=*/true);
}

bool is_empty(const c10::IValue& value) { return value.isTensor() && !value.toTensor().numel(); }

/// Of whole numbers.
Demands division(const RuleArgs& a) {
  const c10::IValue& other = a.at("other");
  if (!is_whole(a) || is_empty(a.at("self")) || is_empty(other)) return {};
  const at::Tensor divisor =
      other.isTensor() ? other.toTensor() : at::scalar_tensor(other.toScalar());
  return {{at::ne(divisor, 0), "a divisor is not zero", "other", 0}};
}

Demands rounded_division(const RuleArgs& a) {
  return a.at("rounding_mode").isNone() ? Demands() : division(a);
}

Demands binary_cross_entropy(const RuleArgs& a) {
  Demands demands;
  for (const char* name : {"self", "target"}) {
    const at::Tensor x = a.tensor(name);
    demands.push_back({at::ge(x, 0) && at::le(x, 1), "each element is between 0 and 1", name, 2});
  }
  return demands;
}

using Rule = Demands (*)(const RuleArgs&);

/// By operator name; a name without an overload applies to all overloads.
const std::unordered_map<std::string, Rule>& rules() {
  static const std::unordered_map<std::string, Rule> table = {
      {"_embedding_bag", embedding},
      {"_embedding_bag_forward_only", embedding},
      {"binary_cross_entropy", binary_cross_entropy},
      {"div.Scalar_mode", rounded_division},
      {"div.Tensor_mode", rounded_division},
      {"embedding", embedding},
      {"floor_divide", division},
      {"fmod", division},
      {"gather", along_dim<From::kBegin>},
      {"index", index},
      {"index_add", along_dim<From::kBegin>},
      {"index_copy", along_dim<From::kBegin>},
      {"index_fill", along_dim<From::kBothEnds>},
      {"index_put", index},
      {"index_reduce", along_dim<From::kBegin>},
      {"index_select", along_dim<From::kBegin>},
      {"masked_scatter", masked_scatter},
      {"nll_loss2d_forward", nll_loss},
      {"nll_loss_forward", nll_loss},
      {"put", in_all},
      {"remainder", division},
      {"scatter", along_dim<From::kBegin>},
      {"scatter_add", along_dim<From::kBegin>},
      {"scatter_reduce", along_dim<From::kBegin>},
      {"take", in_all},
  };
  return table;
}

Rule find_rule(const std::string& name, const std::string& overload) {
  const auto& table = rules();
  auto found = table.find(name);
  if (found == table.end()) found = table.find(name + "." + overload);
  return found == table.end() ? nullptr : found->second;
}

/// The call on tensors of the same shapes, with which eager raises its error.
void raise_as_eager(const c10::OperatorHandle& op, std::vector<c10::IValue> args,
                    const Demand& demand) {
  torch::jit::Stack stack;
  for (size_t i = 0; i < args.size(); ++i) {
    const bool named = op.schema().arguments()[i].name() == demand.name;
    size_t item = 0;
    if (args[i].isOptionalTensorList()) {
      c10::List<std::optional<at::Tensor>> list;
      for (const std::optional<at::Tensor>& t : args[i].toOptionalTensorVector()) {
        const bool wrong = named && item++ == demand.item;
        list.push_back(t ? std::optional(at::full(t->sizes(), wrong ? demand.wrong : 0,
                                                  at::TensorOptions().dtype(t->scalar_type())))
                         : std::nullopt);
      }
      stack.emplace_back(std::move(list));
      continue;
    }
    map_tensors(args[i], [&](const at::Tensor& t) {
      return at::full(t.sizes(), named ? demand.wrong : 0,
                      at::TensorOptions().dtype(t.scalar_type()));
    });
    stack.push_back(std::move(args[i]));
  }
  op.callBoxed(stack);
  TORCH_CHECK(false, full_name(op), ": not true: ", demand.text);
}

}  // namespace

void guard_caught_errors(CaptureSession& session, const c10::OperatorHandle& op,
                         const torch::jit::Stack& stack) {
  const auto& is_caught = session.request().is_caught;
  const std::optional<std::string> name = is_caught ? aten_name(op) : std::nullopt;
  const Rule rule = name ? find_rule(*name, op.operator_name().overload_name) : nullptr;
  if (rule == nullptr || !is_caught()) return;
  const auto count = static_cast<std::ptrdiff_t>(op.schema().arguments().size());
  const std::vector<c10::IValue> args(stack.end() - count, stack.end());
  for (const Demand& demand : rule(RuleArgs(op, args))) {
    const std::string text = *name + ": " + demand.text;
    if (!holds(session, at::all(demand.holds), text, /*caught=*/true)) {
      raise_as_eager(op, args, demand);
    }
  }
}

}  // namespace lazyrt
