#include "host_tracer/capture/complex_math.h"

#include <ATen/ATen.h>

#include <numbers>

namespace lazyrt {
namespace {

at::Tensor sum(const at::Tensor& a, const at::Tensor& b) {
  if (!a.defined()) return b;
  return b.defined() ? at::add(a, b) : a;
}

bool defined(const at::Tensor& t) { return t.defined(); }

at::Tensor or_zeros(const ComplexParts& x) { return defined(x.im) ? x.im : at::zeros_like(x.re); }

/// i x
ComplexParts turned(const ComplexParts& x) { return {at::neg(or_zeros(x)), x.re}; }
/// -i x
ComplexParts turned_back(const ComplexParts& x) { return {or_zeros(x), at::neg(x.re)}; }

at::Tensor without_dim(const at::Tensor& t, int64_t dim) {
  std::vector<int64_t> sizes = t.sizes().vec();
  sizes.erase(sizes.end() + dim);
  return at::_reshape_copy(t, sizes);
}

}  // namespace

at::Tensor real_matmul(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor left = a.dim() == 1 ? at::unsqueeze_copy(a, 0) : a;
  const at::Tensor right = b.dim() == 1 ? at::unsqueeze_copy(b, 1) : b;
  at::Tensor product = at::matmul(left, right);
  if (b.dim() == 1) product = without_dim(product, -1);
  return a.dim() == 1 ? without_dim(product, b.dim() == 1 ? -1 : -2) : product;
}

ComplexParts complex_add(const ComplexParts& x, const ComplexParts& y) {
  return {at::add(x.re, y.re), sum(x.im, y.im)};
}

ComplexParts complex_negative(const ComplexParts& x) {
  return {at::neg(x.re), defined(x.im) ? at::neg(x.im) : at::Tensor()};
}

ComplexParts complex_multiply(const ComplexParts& x, const ComplexParts& y) {
  return complex_product(x, y,
                         [](const at::Tensor& a, const at::Tensor& b) { return at::mul(a, b); });
}

/// By the larger half of the divisor, so that no square overflows.
ComplexParts complex_divide(const ComplexParts& x, const ComplexParts& y) {
  if (!defined(y.im)) {
    return {at::div(x.re, y.re), defined(x.im) ? at::div(x.im, y.re) : at::Tensor()};
  }
  const at::Tensor scale = at::maximum(at::abs(y.re), at::abs(y.im));
  const at::Tensor c = at::div(y.re, scale), d = at::div(y.im, scale);
  const at::Tensor length = at::mul(at::add(at::mul(c, c), at::mul(d, d)), scale);
  const ComplexParts top = complex_multiply(x, {c, at::neg(d)});
  return {at::div(top.re, length), at::div(top.im, length)};
}

at::Tensor complex_abs(const ComplexParts& x) {
  return defined(x.im) ? at::hypot(x.re, x.im) : at::abs(x.re);
}

at::Tensor complex_angle(const ComplexParts& x) {
  if (defined(x.im)) return at::atan2(x.im, x.re);
  const at::Tensor turn = at::mul(at::lt(x.re, 0), std::numbers::pi);
  return at::where(at::isnan(x.re), x.re, turn);
}

ComplexParts complex_exp(const ComplexParts& x) {
  const at::Tensor length = at::exp(x.re), angle = or_zeros(x);
  return {at::mul(length, at::cos(angle)), at::mul(length, at::sin(angle))};
}

ComplexParts complex_log(const ComplexParts& x) {
  return {at::log(complex_abs(x)), complex_angle(x)};
}

/// The half without cancellation from |x| + |re|, the other one from im = 2 re(root) im(root).
ComplexParts complex_sqrt(const ComplexParts& x) {
  const at::Tensor im = or_zeros(x);
  const at::Tensor larger = at::sqrt(at::mul(at::add(complex_abs(x), at::abs(x.re)), 0.5));
  const at::Tensor smaller =
      at::where(at::eq(larger, 0), larger, at::div(at::mul(at::abs(im), 0.5), larger));
  const at::Tensor right = at::ge(x.re, 0);
  return {at::where(right, larger, smaller), at::copysign(at::where(right, smaller, larger), im)};
}

ComplexParts complex_power(const ComplexParts& x, const ComplexParts& y) {
  const ComplexParts power = complex_exp(complex_multiply(complex_log(x), y));
  const at::Tensor zero = at::eq(complex_abs(x), 0);
  const at::Tensor one = at::eq(complex_abs(y), 0);
  const at::Tensor at_zero = at::_to_copy(one, power.re.scalar_type());
  return {at::where(zero, at_zero, power.re), at::where(zero, at::zeros_like(power.im), power.im)};
}

ComplexParts complex_sinh(const ComplexParts& x) {
  const at::Tensor im = or_zeros(x);
  return {at::mul(at::sinh(x.re), at::cos(im)), at::mul(at::cosh(x.re), at::sin(im))};
}

ComplexParts complex_cosh(const ComplexParts& x) {
  const at::Tensor im = or_zeros(x);
  return {at::mul(at::cosh(x.re), at::cos(im)), at::mul(at::sinh(x.re), at::sin(im))};
}

/// By the tanh of the real part, which does not overflow.
ComplexParts complex_tanh(const ComplexParts& x) {
  const at::Tensor t = at::tanh(x.re), c = at::cos(or_zeros(x)), s = at::sin(or_zeros(x));
  const ComplexParts top = {at::mul(t, c), s}, bottom = {c, at::mul(t, s)};
  return complex_divide(top, bottom);
}

ComplexParts complex_sin(const ComplexParts& x) { return turned_back(complex_sinh(turned(x))); }
ComplexParts complex_cos(const ComplexParts& x) { return complex_cosh(turned(x)); }

}  // namespace lazyrt
