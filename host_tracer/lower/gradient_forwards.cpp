// Losses, and layers whose saved moments autograd reads, in operators that a trace may hold.

#include <ATen/ATen.h>

#include "host_tracer/lower/embedding_bag.h"
#include "host_tracer/lower/gradient_ops.h"
#include "host_tracer/record/capture.h"

namespace lazyrt {
namespace {

using Args = RuleArgs;
using Tensors = std::vector<at::Tensor>;
using at::Tensor;

Tensor reduced(const Args& a, const Tensor& loss) {
  const int64_t reduction = a.integer("reduction");
  if (reduction == at::Reduction::Mean) return at::mean(loss);
  return reduction == at::Reduction::Sum ? at::sum(loss) : loss;
}

Tensor difference(const Args& a) { return a.tensor("self") - a.tensor("target"); }

Tensors mse_loss(const Args& a) {
  const Tensor d = difference(a);
  return {reduced(a, d * d)};
}

/// f(|self - target|), then its mean or sum. Eager's kernels work in float32 for one of the 16-bit
/// floats and round it once, and round each step for the other.
template <typename F>
Tensors of_distance(const Args& a, at::ScalarType rounded_once, const F& f) {
  const Tensor x = a.tensor("self"), target = a.tensor("target");
  if (at::result_type(x, target) != rounded_once) return {reduced(a, f(at::abs(x - target)))};
  const Tensor wide = at::_to_copy(x, at::kFloat) - at::_to_copy(target, at::kFloat);
  return {reduced(a, at::_to_copy(f(at::abs(wide)), rounded_once))};
}

Tensors smooth_l1_loss(const Args& a) {
  const double beta = a.at("beta").toDouble();
  return of_distance(a, at::kBFloat16, [beta](const Tensor& z) {
    if (beta == 0) return z;
    return at::where(at::lt(z, beta), z * 0.5 * z / beta, z - 0.5 * beta);
  });
}

Tensors huber_loss(const Args& a) {
  const double delta = a.at("delta").toDouble();
  return of_distance(a, at::kHalf, [delta](const Tensor& z) {
    return at::where(at::le(z, delta), z * 0.5 * z, (z - 0.5 * delta) * delta);
  });
}

/// Each logarithm is at least -100, as in eager.
Tensors binary_cross_entropy(const Args& a) {
  constexpr double kLowest = -100;
  const Tensor x = a.tensor("self"), target = a.tensor("target");
  const Tensor weight = a.optional_tensor("weight");
  require(at::all(at::logical_and(at::ge(x, 0), at::le(x, 1))),
          "binary_cross_entropy: all elements of input should be between 0 and 1");
  const Tensor no = at::clamp_min(at::log1p(at::neg(x)), kLowest);
  const Tensor yes = at::clamp_min(at::log(x), kLowest);
  const Tensor loss = (target - 1) * no - target * yes;
  return {reduced(a, weight.defined() ? loss * weight : loss)};
}

/// (1 - target) x - w log(sigmoid(x)), w being 1 or 1 + (pos_weight - 1) target.
Tensors binary_cross_entropy_with_logits(const Args& a) {
  const Tensor x = a.tensor("self"), target = a.tensor("target");
  const Tensor weight = a.optional_tensor("weight"), positive = a.optional_tensor("pos_weight");
  Tensor log = at::log_sigmoid(x);
  if (positive.defined()) log = log * ((positive - 1) * target + 1);
  const Tensor loss = at::neg(target - 1) * x - log;
  return {reduced(a, weight.defined() ? loss * weight : loss)};
}

/// log(1 + exp(-target x))
Tensors soft_margin_loss(const Args& a) {
  const Tensor inside = at::neg(a.tensor("target")) * a.tensor("self");
  return {reduced(a, at::log1p(at::exp(inside)))};
}

/// The norm of the difference.
Tensors dist(const Args& a) {
  return {at::norm(a.tensor("self") - a.tensor("other"), a.at("p").toScalar())};
}

/// (loss, the weights' sum), of which the ignored class is no part.
Tensors nll_loss(const Args& a) {
  const Tensor x = a.tensor("self"), target = a.tensor("target");
  const Tensor weight = a.optional_tensor("weight");
  const int64_t axis = x.dim() == 1 ? 0 : 1;
  const Tensor used = at::ne(target, a.integer("ignore_index"));
  const Tensor known = at::where(used, target, at::zeros_like(target));
  const Tensor picked =
      at::neg(at::squeeze_copy(at::gather(x, axis, at::unsqueeze_copy(known, axis)), axis));
  Tensor scale = at::_to_copy(used, x.scalar_type());
  if (weight.defined()) {
    const Tensor flat = at::_reshape_copy(known, {known.numel()});
    const Tensor of_class = at::_reshape_copy(at::index_select(weight, 0, flat), known.sizes());
    scale = at::where(used, of_class, at::zeros_like(of_class));  // which may be infinite
  }
  const Tensor loss = at::where(used, picked * scale, at::zeros_like(picked));
  const Tensor total = at::sum(scale);
  if (a.integer("reduction") == at::Reduction::None) return {loss, at::zeros_like(total)};
  const Tensor sum = at::sum(loss);
  return {a.integer("reduction") == at::Reduction::Mean ? sum / total : sum, total};
}

/// (result, mean, rstd) of [N, C, ...], whose moments are the groups' own.
Tensors group_norm(const Args& a) {
  const Tensor x = a.tensor("input");
  const int64_t n = a.integer("N"), channels = a.integer("C"), groups = a.integer("group");
  const Tensor grouped = at::_reshape_copy(x, {n, groups, channels / groups * a.integer("HxW")});
  const Tensor mean = at::mean(grouped, {2}, true);
  const Tensor centred = grouped - mean;
  const Tensor rstd = at::rsqrt(at::mean(centred * centred, {2}, true) + a.at("eps").toDouble());
  std::vector<int64_t> along(static_cast<size_t>(x.dim()), 1);
  along[1] = channels;
  Tensor y = at::_reshape_copy(centred * rstd, x.sizes());
  const Tensor weight = a.optional_tensor("weight"), bias = a.optional_tensor("bias");
  if (weight.defined()) y = y * at::_reshape_copy(weight, along);
  if (bias.defined()) y = y + at::_reshape_copy(bias, along);
  return {y, at::_reshape_copy(mean, {n, groups}), at::_reshape_copy(rstd, {n, groups})};
}

}  // namespace

const GradientFormulas& loss_formulas() {
  static const GradientFormulas formulas = {
      {"_embedding_bag", embedding_bag},
      {"_embedding_bag_forward_only", embedding_bag},
      {"binary_cross_entropy", binary_cross_entropy},
      {"binary_cross_entropy_with_logits", binary_cross_entropy_with_logits},
      {"dist", dist},
      {"huber_loss", huber_loss},
      {"mse_loss", mse_loss},
      {"nll_loss2d_forward", nll_loss},
      {"nll_loss_forward", nll_loss},
      {"smooth_l1_loss", smooth_l1_loss},
      {"soft_margin_loss", soft_margin_loss},
  };
  return formulas;
}

const GradientFormulas& moment_formulas() {
  static const GradientFormulas formulas = {
      {"native_group_norm", rounded_once<group_norm>},
  };
  return formulas;
}

}  // namespace lazyrt
