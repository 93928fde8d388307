// Functions that operators which a trace may hold give together.

#include <ATen/ATen.h>

#include "host_tracer/capture/gradient_ops.h"

namespace lazyrt {
namespace {

using Tensors = std::vector<at::Tensor>;
using at::Tensor;

/// (what the quantized number stands for, whether it was within the range). NaN is the least one.
Tensors fake_quantize(const RuleArgs& a) {
  const Tensor x = a.tensor("self");
  const auto scale = static_cast<float>(a.at("scale").toDouble());
  const int64_t zero = a.integer("zero_point");
  const auto least = static_cast<double>(a.integer("quant_min"));
  const auto most = static_cast<double>(a.integer("quant_max"));
  const Tensor q = at::round(x * static_cast<double>(1.0F / scale)) + zero;
  const Tensor within = at::logical_and(at::ge(q, least), at::le(q, most));
  const Tensor lowest = at::scalar_tensor(least, at::dtype(x.scalar_type()));
  const Tensor held = at::where(at::isnan(q), lowest, at::clamp(q, least, most));
  return {(held - zero) * static_cast<double>(scale), within};
}

/// exp(-|x|) i0(x). From 30 on neither factor is needed: the asymptotic series of i0, whose first
/// 14 terms shrink until below the last place of a double.
Tensors special_i0e(const RuleArgs& a) {
  constexpr double kFar = 30, kOneByRootOfTwoPi = 0.3989422804014327;
  constexpr int kTerms = 14;
  const Tensor x = a.tensor("self");
  const auto type =
      at::isFloatingType(x.scalar_type()) ? x.scalar_type() : at::get_default_dtype_as_scalartype();
  TORCH_CHECK(type == at::kFloat || type == at::kDouble, "i0e of ", type,
              " is not supported: eager rounds in the middle of it");
  const Tensor size = at::abs(at::_to_copy(x, type));
  const Tensor near = at::clamp_max(size, kFar), far = at::clamp_min(size, kFar);
  Tensor series = at::ones_like(far);
  for (int k = kTerms; k > 0; --k) {
    series = series * at::reciprocal(far) * ((2.0 * k - 1) * (2.0 * k - 1) / (8.0 * k)) + 1;
  }
  return {at::where(at::lt(size, kFar), at::exp(at::neg(near)) * at::i0(near),
                    series * at::rsqrt(far) * kOneByRootOfTwoPi)};
}

}  // namespace

const GradientFormulas& composed_formulas() {
  static const GradientFormulas formulas = {
      {"fake_quantize_per_tensor_affine_cachemask", rounded_once<fake_quantize>},
      {"special_i0e", special_i0e},
  };
  return formulas;
}

}  // namespace lazyrt
