// Gradients of functions of one element, of softmax, and of losses.

#include <ATen/ATen.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "host_tracer/lower/gradient_ops.h"

namespace lazyrt {
namespace {

using Args = RuleArgs;
using Tensors = std::vector<at::Tensor>;
using at::Tensor;

Tensor grad(const Args& a) { return a.tensor("grad_output"); }
Tensor self(const Args& a) { return a.tensor("self"); }
double number(const Args& a, const char* name) { return a.at(name).toScalar().toDouble(); }

/// `value` where `condition` holds, else 0.
Tensor only_where(const Tensor& condition, const Tensor& value) {
  return at::where(condition, value, at::zeros_like(value));
}

Tensor between(const Tensor& x, double low, double high) {
  return at::logical_and(at::gt(x, low), at::lt(x, high));
}

Tensors threshold(const Args& a) {
  const Tensor below = at::le(self(a), a.at("threshold").toScalar());
  return {only_where(at::logical_not(below), grad(a))};
}

Tensors sigmoid(const Args& a) {
  const Tensor y = a.tensor("output");
  return {grad(a) * at::rsub(y, 1) * y};
}

Tensors tanh(const Args& a) {
  const Tensor y = a.tensor("output");
  return {grad(a) * at::rsub(y * y, 1)};
}

Tensor gelu_slope(const Tensor& x) {
  const Tensor below = at::erf(x * std::numbers::sqrt2 * 0.5) * 0.5 + 0.5;
  const double height = 0.5 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  return below + x * at::exp(x * x * -0.5) * height;
}

Tensor gelu_tanh_slope(const Tensor& x) {
  constexpr double kCubic = 0.044715;
  const double scale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  const Tensor square = x * x;
  const Tensor t = at::tanh((x + x * square * kCubic) * scale);
  const Tensor inner = (square * (3 * kCubic) + 1) * scale;
  return (t + 1) * 0.5 + x * at::rsub(t * t, 1) * inner * 0.5;
}

Tensors gelu(const Args& a) {
  const bool by_tanh = a.at("approximate").toStringRef() == "tanh";
  return {grad(a) * (by_tanh ? gelu_tanh_slope(self(a)) : gelu_slope(self(a)))};
}

Tensors silu(const Args& a) {
  const Tensor x = self(a), s = at::sigmoid(x);
  return {grad(a) * (s * (x * at::rsub(s, 1) + 1))};
}

Tensors mish(const Args& a) {
  const Tensor x = self(a), t = at::tanh(at::softplus(x));
  return {grad(a) * (t + x * at::sigmoid(x) * at::rsub(t * t, 1))};
}

Tensors elu(const Args& a) {
  const Tensor x = a.tensor("self_or_result"), g = grad(a);
  const double alpha = number(a, "alpha"), scale = number(a, "scale");
  const double inner = number(a, "input_scale");
  const Tensor below = a.boolean("is_result") ? (x + alpha * scale) * inner
                                              : at::exp(x * inner) * (inner * alpha * scale);
  return {g * at::where(at::gt(x, 0), at::full_like(x, scale), below)};
}

Tensors softplus(const Args& a) {
  const Tensor scaled = self(a) * number(a, "beta");
  const Tensor g = grad(a), e = at::exp(scaled);  // infinite below a high threshold: NaN there
  return {at::where(at::gt(scaled, number(a, "threshold")), g, g * e / (e + 1))};
}

Tensors leaky_relu(const Args& a) {
  const Tensor g = grad(a);
  return {at::where(at::gt(self(a), 0), g, g * number(a, "negative_slope"))};
}

Tensors hardtanh(const Args& a) {
  return {only_where(between(self(a), number(a, "min_val"), number(a, "max_val")), grad(a))};
}

Tensors hardsigmoid(const Args& a) {
  return {only_where(between(self(a), -3, 3), grad(a) * (1.0 / 6))};
}

Tensors hardswish(const Args& a) {
  const Tensor x = self(a), g = grad(a);
  const Tensor middle = g * (x * (1.0 / 3) + 0.5);  // and at NaN
  return {at::where(at::ge(x, 3), g, only_where(at::logical_not(at::le(x, -3)), middle))};
}

Tensor shrunk(const Args& a, const Tensor& g) {
  const double lambd = number(a, "lambd");
  const Tensor x = self(a);
  return only_where(at::logical_or(at::gt(x, lambd), at::lt(x, -lambd)), g);
}
Tensors softshrink(const Args& a) { return {shrunk(a, grad(a))}; }
Tensors hardshrink(const Args& a) { return {shrunk(a, a.tensor("grad_out"))}; }

Tensor widened(const Tensor& t) {
  return at::isReducedFloatingType(t.scalar_type()) ? at::_to_copy(t, at::kFloat) : t;
}

/// Of exp(-|x|) as the forward keeps it: in the type of x.
Tensors log_sigmoid(const Args& a) {
  const Tensor x = self(a), e = widened(at::exp(at::neg(at::abs(x)))), share = e / (e + 1);
  const Tensor slope = at::where(at::lt(x, 0), at::rsub(share, 1), share);
  return {at::_to_copy(slope * widened(grad(a)), x.scalar_type())};
}

Tensors logit(const Args& a) {
  const Tensor x = self(a), slope = grad(a) / (x * at::rsub(x, 1));
  const auto eps = a.at("eps").toOptional<double>();
  const double low = eps.value_or(0.0);
  const Tensor inside = at::logical_and(at::ge(x, low), at::le(x, 1 - low));
  const double outside = eps ? 0.0 : std::numeric_limits<double>::quiet_NaN();
  return {at::where(inside, slope, at::full_like(slope, outside))};
}

Tensors glu(const Args& a) {
  const int64_t dim = a.integer("dim"), half = self(a).size(dim) / 2;
  const Tensor x = widened(at::slice_copy(self(a), dim, 0, half));
  const Tensor gate = at::sigmoid(at::slice_copy(self(a), dim, half, 2 * half)), g = grad(a);
  const Tensor wide = widened(gate);
  const Tensor of_gate =
      at::rsub(wide, 1) * wide * x * widened(g);  // in an order that overflows late
  return {at::cat({g * gate, at::_to_copy(of_gate, g.scalar_type())}, dim)};
}

Tensors prelu(const Args& a) {
  const Tensor x = self(a), g = grad(a), positive = at::gt(x, 0);
  return {at::where(positive, g, g * a.tensor("weight")),
          at::where(positive, at::zeros_like(g), x * g)};
}

Tensors dropout(const Args& a) { return {grad(a) * a.tensor("mask") * number(a, "scale")}; }

Tensors softmax(const Args& a) {
  const Tensor y = a.tensor("output"), g = grad(a) * y;
  return {(grad(a) - at::sum(g, a.integer("dim"), true)) * y};
}

Tensors log_softmax(const Args& a) {
  const Tensor g = grad(a);
  return {g - at::exp(a.tensor("output")) * at::sum(g, a.integer("dim"), true)};
}

// ---------------------------------------------------------------- losses

/// The loss's slope in `self`, weighted by the gradient of its mean or sum.
Tensor reduced(const Args& a, const Tensor& slope) {
  const bool mean = a.integer("reduction") == at::Reduction::Mean;
  return slope * grad(a) * (mean ? 1.0 / static_cast<double>(slope.numel()) : 1.0);
}

Tensor difference(const Args& a) { return self(a) - a.tensor("target"); }

Tensors mse_loss(const Args& a) { return {reduced(a, difference(a) * 2)}; }

Tensors smooth_l1_loss(const Args& a) {
  const Tensor d = difference(a);
  const double beta = number(a, "beta");
  return {reduced(a, at::where(at::ge(at::abs(d), beta), at::sign(d), d / beta))};  // NaN at NaN
}

Tensors huber_loss(const Args& a) {
  const double delta = number(a, "delta");
  return {reduced(a, at::clamp(difference(a), -delta, delta))};
}

Tensors binary_cross_entropy(const Args& a) {
  const Tensor x = self(a), weight = a.optional_tensor("weight");
  const Tensor slope = difference(a) / at::clamp_min(x * at::rsub(x, 1), 1e-12);
  return {reduced(a, weight.defined() ? slope * weight : slope)};
}

/// -weight at the target's class, 0 elsewhere and for the ignored class.
Tensors nll_loss(const Args& a) {
  const Tensor x = self(a), target = a.tensor("target"), weight = a.optional_tensor("weight");
  const int64_t axis = x.dim() == 1 ? 0 : 1;
  const Tensor used = at::ne(target, a.integer("ignore_index"));
  const Tensor known = only_where(used, target);
  Tensor scale = at::_to_copy(used, x.scalar_type());
  if (weight.defined())
    scale = at::_reshape_copy(
        at::index_select(weight, 0, at::_reshape_copy(known, {known.numel()})), known.sizes());
  const bool mean = a.integer("reduction") == at::Reduction::Mean;
  Tensor g = at::neg(grad(a)) * scale;
  if (mean) g = g / a.tensor("total_weight");
  g = only_where(used, g);  // the weight may be infinite, and the total 0 where none is used
  return {at::scatter(at::zeros_like(x), axis, at::unsqueeze_copy(known, axis),
                      at::unsqueeze_copy(g, axis))};
}

}  // namespace

const GradientFormulas& pointwise_gradients() {
  static const GradientFormulas formulas = {
      {"_log_softmax_backward_data", rounded_once<log_softmax>},
      {"_prelu_kernel_backward", rounded_once<prelu>},
      {"_softmax_backward_data", rounded_once<softmax>},
      {"binary_cross_entropy_backward", binary_cross_entropy},
      {"elu_backward", rounded_once<elu>},
      {"gelu_backward", rounded_once<gelu>},
      {"glu_backward", glu},
      {"hardshrink_backward", hardshrink},
      {"hardsigmoid_backward", rounded_once<hardsigmoid>},
      {"hardswish_backward", rounded_once<hardswish>},
      {"hardtanh_backward", hardtanh},
      {"huber_loss_backward", huber_loss},
      {"leaky_relu_backward", rounded_once<leaky_relu>},
      {"log_sigmoid_backward", log_sigmoid},
      {"logit_backward", logit},
      {"mish_backward", rounded_once<mish>},
      {"mse_loss_backward", mse_loss},
      {"native_dropout_backward", rounded_once<dropout>},
      {"nll_loss2d_backward", nll_loss},
      {"nll_loss_backward", nll_loss},
      {"sigmoid_backward", rounded_once_in_bfloat16<sigmoid>},
      {"silu_backward", rounded_once<silu>},
      {"smooth_l1_loss_backward", rounded_once<smooth_l1_loss>},
      {"softplus_backward", rounded_once<softplus>},
      {"softshrink_backward", softshrink},
      {"tanh_backward", rounded_once<tanh>},
      {"threshold_backward", threshold},
  };
  return formulas;
}

}  // namespace lazyrt
