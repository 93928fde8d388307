#include "host_tracer/frontends/shared/gradient_mode.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>

#include <algorithm>

#include "host_tracer/frontends/shared/program_outputs.h"
#include "host_tracer/record/perturb.h"

namespace lazyrt {
namespace {

using Run = std::function<c10::IValue(const std::vector<at::Tensor>&)>;

constexpr uint64_t kOthers = 3;

/// Nothing where the program throws.
std::optional<std::vector<NamedValue>> results(const Run& run,
                                               const std::vector<at::Tensor>& inputs,
                                               bool gradients) {
  std::vector<at::Tensor> copies;
  for (const at::Tensor& input : inputs) copies.push_back(input.detach().clone());
  try {
    const at::AutoGradMode mode(gradients);
    return flatten_outputs(run(copies), "out");
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

/// Equal but for rounding.
bool same(const c10::IValue& a, const c10::IValue& b) {
  if (!a.isTensor() || !b.isTensor() || !a.toTensor().defined() || !b.toTensor().defined()) {
    return a.isTensor() == b.isTensor() && (a.isTensor() || a.equals(b).toBool());
  }
  const at::Tensor x = a.toTensor().detach(), y = b.toTensor().detach();
  if (x.sizes() != y.sizes() || x.scalar_type() != y.scalar_type()) return false;
  if (!at::isFloatingType(x.scalar_type()) || x.numel() == 0) return at::equal(x, y);
  const double scale = y.nan_to_num(0, 0, 0).abs().max().item<double>();
  return at::allclose(x, y, 1e-4, 1e-5 * scale, /*equal_nan=*/true);
}

bool all_same(const std::vector<NamedValue>& a, const std::vector<NamedValue>& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(),
      [](const NamedValue& x, const NamedValue& y) { return same(x.value, y.value); });
}

class WithoutOneDnn {
 public:
  WithoutOneDnn() { at::globalContext().setUserEnabledMkldnn(false); }
  ~WithoutOneDnn() { at::globalContext().setUserEnabledMkldnn(before_); }
  WithoutOneDnn(const WithoutOneDnn&) = delete;
  WithoutOneDnn& operator=(const WithoutOneDnn&) = delete;

 private:
  const bool before_ = at::globalContext().userEnabledMkldnn();
};

/// Not where two runs alike differ (random numbers, a clock), nor where it is oneDNN that differs,
/// which takes some calls only where no gradients are recorded (LSTM's), or only where they are.
bool differ(const Run& run, const std::vector<at::Tensor>& inputs) {
  const auto without = results(run, inputs, false);
  const auto with = without ? results(run, inputs, true) : std::nullopt;
  if (!with || all_same(*with, *without)) return false;
  const auto again = results(run, inputs, false);
  if (!again || !all_same(*again, *without)) return false;
  const WithoutOneDnn none;
  const auto plain_with = results(run, inputs, true);
  const auto plain_without = results(run, inputs, false);
  return plain_with && plain_without && !all_same(*plain_with, *plain_without);
}

}  // namespace

std::optional<Finding> find_gradient_mode(const std::vector<NamedTensor>& inputs, const Run& run) {
  bool found = false;
  for (int64_t factor : {30, 3000, -7}) {
    std::vector<at::Tensor> given;
    const Enlargement by = {static_cast<double>(factor), 0, factor, 1};
    for (const NamedTensor& input : inputs) given.push_back(enlarged(input.tensor, by));
    found = found || differ(run, given);
  }
  for (uint64_t seed = 0; seed <= kOthers && !found; ++seed) {
    std::vector<at::Tensor> given;
    for (const NamedTensor& input : inputs) {
      given.push_back(seed == 0 ? input.tensor : perturbed(input.tensor, /*level=*/0, seed));
    }
    found = differ(run, given);
  }
  if (!found) return std::nullopt;
  return Finding{Severity::kError, "gradient-mode",
                 "the program gives other results where gradients are recorded than under no_grad, "
                 "and the bundle gives the latter",
                 "decide by an argument, not by whether gradients are enabled", Source{}};
}

}  // namespace lazyrt
