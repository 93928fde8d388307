#include "host_tracer/lower/complex_math.h"

#include <ATen/ATen.h>

#include <limits>
#include <numbers>

namespace lazyrt {
namespace {

bool defined(const at::Tensor& t) { return t.defined(); }

at::Tensor zero_or_im(const ComplexParts& x) { return defined(x.im) ? x.im : number_operand(0.0); }

at::Tensor or_zeros(const ComplexParts& x) { return defined(x.im) ? x.im : at::zeros_like(x.re); }

/// i x
ComplexParts turned(const ComplexParts& x) { return {at::neg(or_zeros(x)), x.re}; }
/// -i x
ComplexParts turned_back(const ComplexParts& x) { return {or_zeros(x), at::neg(x.re)}; }

/// Zero stays zero, however long.
at::Tensor stretched(const at::Tensor& unit, const at::Tensor& length) {
  return at::where(at::eq(unit, 0), at::mul(at::sign(length), unit), at::mul(length, unit));
}

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

// A real operand is c + 0i, as in eager: roots and angles go by the sign of a zero, and -0 + 0 is
// 0.

ComplexParts complex_add(const ComplexParts& x, const ComplexParts& y) {
  const at::Tensor re = at::add(x.re, y.re);
  if (!defined(x.im) && !defined(y.im)) return {re, {}};
  return {re, at::add(zero_or_im(x), zero_or_im(y))};
}

/// A real number less nothing is 0, not -0; so is a complex number less a real one.
ComplexParts complex_subtract(const ComplexParts& x, const ComplexParts& y) {
  const at::Tensor re = at::sub(x.re, y.re);
  if (!defined(y.im)) return {re, defined(x.im) ? at::add(x.im, 0) : at::Tensor()};
  return {re, at::sub(zero_or_im(x), y.im)};
}

/// 0 - x: eager's vectors have no -0, which its last elements behind them have.
ComplexParts complex_negative(const ComplexParts& x) {
  return {at::rsub(x.re, 0), defined(x.im) ? at::rsub(x.im, 0) : at::Tensor()};
}

ComplexParts complex_multiply(const ComplexParts& x, const ComplexParts& y) {
  if (!defined(x.im) && !defined(y.im)) return {at::mul(x.re, y.re), {}};
  return complex_product({x.re, zero_or_im(x)}, {y.re, zero_or_im(y)},
                         [](const at::Tensor& a, const at::Tensor& b) { return at::mul(a, b); });
}

/// By the larger half of the divisor, so that no square overflows: the half itself is 1 then, also
/// where it is infinite. By 0 both halves are divided, as in eager: 1 / 0 is inf + nan i.
ComplexParts complex_divide(const ComplexParts& x, const ComplexParts& y) {
  if (!defined(y.im)) {
    if (!defined(x.im)) return {at::div(x.re, y.re), {}};
    const at::Tensor ratio = at::copysign(at::zeros_like(y.re), y.re), by_zero = at::eq(y.re, 0);
    const at::Tensor re = at::where(by_zero, x.re, at::add(x.re, at::mul(x.im, ratio)));
    const at::Tensor im = at::where(by_zero, x.im, at::sub(x.im, at::mul(x.re, ratio)));
    return {at::div(re, y.re), at::div(im, y.re)};
  }
  const at::Tensor wide = at::ge(at::abs(y.re), at::abs(y.im));
  const at::Tensor large = at::where(wide, y.re, y.im), small = at::where(wide, y.im, y.re);
  const at::Tensor ratio = at::where(at::eq(large, 0), small, at::div(small, large));
  const at::Tensor c = at::where(wide, 1, ratio), d = at::where(wide, ratio, 1);
  const at::Tensor length = at::add(large, at::mul(small, ratio));
  const at::Tensor ac = at::mul(x.re, c), ad = at::mul(x.re, d);
  const at::Tensor re = defined(x.im) ? at::add(ac, at::mul(x.im, d)) : ac;
  const at::Tensor im = defined(x.im) ? at::sub(at::mul(x.im, c), ad) : at::rsub(ad, 0);
  return {at::div(re, length), at::div(im, length)};
}

at::Tensor complex_abs(const ComplexParts& x) {
  return defined(x.im) ? at::hypot(x.re, x.im) : at::abs(x.re);
}

at::Tensor complex_angle(const ComplexParts& x) {
  if (defined(x.im)) return at::atan2(x.im, x.re);
  const at::Tensor turn =
      at::where(at::lt(x.re, 0), at::full_like(x.re, std::numbers::pi), at::zeros_like(x.re));
  return at::where(at::isnan(x.re), x.re, turn);
}

ComplexParts complex_exp(const ComplexParts& x) {
  const at::Tensor length = at::exp(x.re), angle = or_zeros(x);
  return {at::mul(length, at::cos(angle)), stretched(at::sin(angle), length)};
}

ComplexParts complex_log(const ComplexParts& x) {
  return {at::log(complex_abs(x)), complex_angle(x)};
}

/// The half without cancellation from |x| + |re|, the other one from im = 2 re(root) im(root).
ComplexParts complex_sqrt(const ComplexParts& x) {
  const at::Tensor im = or_zeros(x);
  const at::Tensor half_abs = at::mul(complex_abs(x), 0.5);  // the whole sum may overflow
  const at::Tensor larger = at::sqrt(at::add(half_abs, at::mul(at::abs(x.re), 0.5)));
  const at::Tensor smaller =
      at::where(at::eq(larger, 0), larger, at::div(at::mul(at::abs(im), 0.5), larger));
  const at::Tensor right = at::ge(x.re, 0);
  return {at::where(right, larger, smaller), at::copysign(at::where(right, smaller, larger), im)};
}

/// 0 to the power y is exp(-inf re(y)): 0, inf or NaN; the imaginary half is that times 0.
ComplexParts complex_power(const ComplexParts& x, const ComplexParts& y) {
  const ComplexParts power = complex_exp(complex_multiply(complex_log(x), y));
  const at::Tensor zero = at::eq(complex_abs(x), 0);
  const at::Tensor exponent = at::_to_copy(y.re, power.re.scalar_type());
  const at::Tensor at_zero = at::exp(at::mul(exponent, -std::numeric_limits<double>::infinity()));
  return {at::where(zero, at_zero, power.re), at::where(zero, at::mul(at_zero, 0), power.im)};
}

ComplexParts complex_sinh(const ComplexParts& x) {
  const at::Tensor im = or_zeros(x);
  return {at::mul(at::sinh(x.re), at::cos(im)), stretched(at::sin(im), at::cosh(x.re))};
}

ComplexParts complex_cosh(const ComplexParts& x) {
  const at::Tensor im = or_zeros(x);
  return {at::mul(at::cosh(x.re), at::cos(im)), stretched(at::sin(im), at::sinh(x.re))};
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
