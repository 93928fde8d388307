// Functions that operators which a trace may hold give together.

#include <ATen/ATen.h>
#include <ATen/ScalarOps.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/native/TypeProperties.h>
#include <c10/util/accumulate.h>

#include <limits>

#include "host_tracer/lower/gradient_ops.h"

namespace lazyrt {
namespace {

using Tensors = std::vector<at::Tensor>;
using at::Tensor;

/// (what the quantized numbers q stand for, whether they were within the range). `lowest`: which of
/// them eager takes for the least one.
Tensors dequantized(const RuleArgs& a, const Tensor& q, const Tensor& scale, const Tensor& zero,
                    const Tensor& lowest) {
  const auto least = static_cast<double>(a.integer("quant_min"));
  const auto most = static_cast<double>(a.integer("quant_max"));
  const Tensor end = at::scalar_tensor(least, at::dtype(q.scalar_type()));
  const Tensor held = at::where(lowest, end, at::clamp(q, least, most));
  return {(held - zero) * scale, at::logical_and(at::ge(q, least), at::le(q, most))};
}

Tensor quantized(const Tensor& x, const Tensor& scale, const Tensor& zero) {
  return at::round(x * at::reciprocal(scale)) + zero;
}

Tensors fake_quantize(const RuleArgs& a) {
  const Tensor scale = at::scalar_tensor(a.at("scale").toDouble(), at::dtype(at::kFloat));
  const Tensor zero = at::scalar_tensor(a.integer("zero_point"), at::dtype(at::kLong));
  const Tensor q = quantized(a.tensor("self"), scale, zero);
  return dequantized(a, q, scale, zero, at::isnan(q));
}

/// With scale and zero point in tensors of one element.
Tensors fake_quantize_by_tensors(const RuleArgs& a) {
  const Tensor x = a.tensor("self"), scale = at::reshape(a.tensor("scale"), {});
  const Tensor zero = at::reshape(a.tensor("zero_point"), {});
  const Tensor q = quantized(x, scale, zero);
  Tensors results = dequantized(a, q, scale, zero, at::isnan(q));
  const Tensor enabled = at::ne(at::reshape(a.tensor("fake_quant_enabled"), {}), 0);
  results[0] = at::where(enabled, results[0], x);
  results[1] = at::logical_or(results[1], at::logical_not(enabled));
  return results;
}

/// By channel. Eager's kernel goes through int64, where what is too large for it, infinities too,
/// is the least number.
Tensors fake_quantize_channels(const RuleArgs& a) {
  constexpr double kEndOfInt64 = 9223372036854775808.0;
  const Tensor x = a.tensor("self");
  const int64_t axis = at::maybe_wrap_dim(a.integer("axis"), x.dim());
  std::vector<int64_t> along(static_cast<size_t>(x.dim()), 1);
  along[static_cast<size_t>(axis)] = x.size(axis);
  const Tensor scale = at::reshape(a.tensor("scale"), along);
  const Tensor zero = at::reshape(a.tensor("zero_point"), along);
  TORCH_CHECK(at::isIntegralType(zero.scalar_type(), false),
              "fake_quantize_per_channel_affine with zero points of ", zero.scalar_type(),
              " is not supported, only integers are");
  const Tensor q = quantized(x, scale, zero);
  return dequantized(a, q, scale, zero, at::logical_or(at::isnan(q), at::ge(q, kEndOfInt64)));
}

/// As the modules of quantization aware training call it, whose observers are off: what they would
/// write stays.
Tensors fake_quantize_observed(const RuleArgs& a) {
  TORCH_CHECK(a.tensor("observer_on").item<int64_t>() == 0,
              "an observer of torch.ao.quantization is on and would change its range in each call: "
              "model.apply(torch.ao.quantization.disable_observer) first");
  const Tensor x = a.tensor("self"), scale = a.tensor("scale"), zero = a.tensor("zero_point");
  const int64_t least = a.integer("quant_min"), most = a.integer("quant_max");
  const Tensor on = a.tensor("fake_quant_on");
  Tensors results;
  if (on.item<int64_t>() == 0) {
    results = {x, at::ones_like(x, at::dtype(at::kBool))};
  } else if (a.boolean("per_row_fake_quant")) {
    const auto [y, mask] = at::fake_quantize_per_channel_affine_cachemask(
        x, scale, zero, a.integer("ch_axis"), least, most);
    results = {y, mask};
  } else {
    const auto [y, mask] = at::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams(
        x, scale, zero, on, least, most);
    results = {y, mask};
  }
  for (const char* name : {"running_min", "running_max", "scale", "zero_point"}) {
    results.push_back(a.tensor(name));
  }
  return results;
}

// ---------------------------------------------------------------- places

Tensors put(const RuleArgs& a) {
  const Tensor x = a.tensor("self"), index = at::reshape(a.tensor("index"), {-1});
  const Tensor source = at::reshape(a.tensor("source"), {-1});
  const Tensor flat = at::index_put(at::reshape(x, {-1}), {index}, source, a.boolean("accumulate"));
  return {at::reshape(flat, x.sizes())};
}

/// Each element at the place in its plane that its index says; of several the last.
template <int64_t kSpatial>
Tensors max_unpool(const RuleArgs& a) {
  const Tensor x = a.tensor("self"), indices = a.tensor("indices");
  const std::vector<int64_t> spatial = a.ints("output_size");
  const at::IntArrayRef outer = x.sizes().slice(0, static_cast<size_t>(x.dim() - kSpatial));
  std::vector<int64_t> planes = outer.vec(), flat = outer.vec(), result = outer.vec();
  planes.push_back(c10::multiply_integers(spatial));
  flat.push_back(c10::multiply_integers(x.sizes().slice(outer.size())));
  result.insert(result.end(), spatial.begin(), spatial.end());
  const Tensor empty = at::zeros(planes, at::dtype(x.scalar_type()));
  const Tensor filled = at::scatter(empty, -1, at::reshape(indices, flat), at::reshape(x, flat));
  return {at::reshape(filled, result)};
}

Tensors block_diag(const RuleArgs& a) {
  std::vector<Tensor> blocks;
  int64_t columns = 0;
  for (const Tensor& t : a.at("tensors").toTensorVector()) {
    TORCH_CHECK(t.dim() <= 2, "block_diag: a block has ", t.dim(), " dims, more than 2");
    const int64_t width = t.dim() == 0 ? 1 : t.size(-1);
    blocks.push_back(at::reshape(t, {t.dim() == 2 ? t.size(0) : 1, width}));
    columns += width;
  }
  const at::ScalarType type = at::native::result_type(blocks);
  std::vector<Tensor> rows;
  int64_t before = 0;
  for (const Tensor& block : blocks) {
    const int64_t after = columns - before - block.size(1);
    rows.push_back(at::constant_pad_nd(at::_to_copy(block, type), {before, after}));
    before += block.size(1);
  }
  return {at::cat(rows)};
}

// ---------------------------------------------------------------- distances

Tensors renorm(const RuleArgs& a) {
  constexpr double kEpsilon = 1e-7;
  const Tensor x = a.tensor("self");
  const int64_t kept = at::maybe_wrap_dim(a.integer("dim"), x.dim());
  std::vector<int64_t> dims;
  for (int64_t i = 0; i < x.dim(); ++i) {
    if (i != kept) dims.push_back(i);
  }
  const at::ScalarType type = x.scalar_type();
  const bool narrow = type == at::kHalf || type == at::kBFloat16;
  const at::ScalarType wide = narrow ? at::kFloat : type;
  const Tensor norm = at::linalg_vector_norm(x, a.at("p").toScalar(), dims, true, wide);
  const Tensor most = at::scalar_tensor(a.at("maxnorm").toScalar(), at::dtype(norm.scalar_type()));
  const Tensor factor =
      at::where(at::gt(norm, most), most / (norm + kEpsilon), at::ones_like(norm));
  return {x * at::_to_copy(factor, type)};
}

/// Of each two rows.
Tensors pdist(const RuleArgs& a) {
  const Tensor x = a.tensor("self");
  const Tensor pairs = at::triu_indices(x.size(0), x.size(0), 1);
  const Tensor difference = at::index_select(x, 0, pairs[0]) - at::index_select(x, 0, pairs[1]);
  const double p = a.at("p").toDouble();
  const Tensor size = at::abs(difference);
  if (p == 0) return {at::sum(at::clamp_max(at::ceil(size), 1), {-1})};
  if (p == 1) return {at::sum(size, {-1})};
  if (p == 2) return {at::sqrt(at::sum(at::square(size), {-1}))};
  if (std::isinf(p)) return {at::amax(size, {-1})};
  return {at::pow(at::sum(at::pow(size, p), {-1}), 1 / p)};
}

// ---------------------------------------------------------------- functions

Tensors lcm(const RuleArgs& a) {
  const Tensor x = a.tensor("self"), y = a.tensor("other");
  const Tensor divisor = at::gcd(x, y);
  const Tensor none = at::eq(divisor, 0);
  const Tensor whole = at::div(x, at::where(none, at::ones_like(divisor), divisor), "trunc");
  // What C++ computes in int, and cuts off at last.
  const at::ScalarType type = divisor.scalar_type();
  const at::ScalarType wide = at::elementSize(type) < 4 ? at::kInt : type;
  const Tensor product = at::abs(at::_to_copy(whole, wide) * at::_to_copy(y, wide));
  return {at::where(none, at::zeros_like(divisor), at::_to_copy(product, type))};
}

Tensor operand(const RuleArgs& a, const char* name) {
  const c10::IValue& value = a.at(name);
  return value.isTensor() ? value.toTensor() : at::native::wrapped_scalar_tensor(value.toScalar());
}

/// x log(1 + y), which is 0 where x is, unless y is NaN.
Tensors xlog1py(const RuleArgs& a) {
  const Tensor x = operand(a, "self"), y = operand(a, "other");
  at::ScalarType type = at::result_type(x, y);
  if (!at::isFloatingType(type)) type = at::get_default_dtype_as_scalartype();
  const Tensor factor = at::_to_copy(x, type), place = at::_to_copy(y, type);
  const Tensor none = at::logical_and(at::eq(factor, 0), at::logical_not(at::isnan(place)));
  return {at::where(none, at::zeros({}, at::dtype(type)), factor * at::log1p(place))};
}

/// -x log(x), which is 0 at 0 and -infinity below.
Tensors entr(const RuleArgs& a) {
  const Tensor self = a.tensor("self");
  const bool whole = !at::isFloatingType(self.scalar_type());
  const Tensor x = whole ? at::_to_copy(self, at::get_default_dtype_as_scalartype()) : self;
  const Tensor none = at::zeros_like(x);
  const Tensor entropy = at::where(at::eq(x, 0), none, at::neg(x) * at::log(x));
  return {
      at::where(at::lt(x, 0), at::full_like(x, -std::numeric_limits<double>::infinity()), entropy)};
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
              " is not supported: eager rounds an intermediate value to this type");
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
      {"_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
       rounded_once<fake_quantize_by_tensors>},
      {"_fused_moving_avg_obs_fq_helper_functional", fake_quantize_observed},
      {"_pdist_forward", pdist},
      {"block_diag", block_diag},
      {"fake_quantize_per_channel_affine_cachemask", rounded_once<fake_quantize_channels>},
      {"fake_quantize_per_tensor_affine_cachemask", rounded_once<fake_quantize>},
      {"lcm", lcm},
      {"max_unpool2d", max_unpool<2>},
      {"max_unpool3d", max_unpool<3>},
      {"put", put},
      {"renorm", renorm},
      {"special_entr", entr},
      {"special_i0e", special_i0e},
      {"special_xlog1py", xlog1py},
  };
  return formulas;
}

}  // namespace lazyrt
