// Elementary functions on Highway vectors of float32. Included once per instruction set; see
// vector_ops_inl.h. No function here touches memory.

#include <hwy/highway.h>

namespace lazyrt {
namespace LAZYRT_ISA {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using DI = hn::RebindToSigned<D>;
using V = hn::Vec<D>;

HWY_INLINE V set1(float x) { return hn::Set(D(), x); }
HWY_INLINE auto is_nan(V x) { return hn::IsNaN(x); }

// Highway's Min and Max differ between processors in which operand a NaN gives.
HWY_INLINE V max_nan(V a, V b) {
  return hn::IfThenElse(is_nan(a), a, hn::IfThenElse(hn::Gt(a, b), a, b));
}
HWY_INLINE V min_nan(V a, V b) {
  return hn::IfThenElse(is_nan(a), a, hn::IfThenElse(hn::Lt(a, b), a, b));
}

// 2^n for n in [-126, 127].
HWY_INLINE V power_of_two(hn::Vec<DI> n) {
  return hn::BitCast(D(), hn::ShiftLeft<23>(hn::Add(n, hn::Set(DI(), 127))));
}

// The integer that `rounded` is, for |rounded| <= 2^22. Others give some integer: a conversion
// would be undefined for these where Highway emulates vectors.
HWY_INLINE hn::Vec<DI> integer_of(V rounded) {
  const auto bits = hn::BitCast(DI(), hn::Add(rounded, set1(12582912.0f)));  // 1.5 * 2^23
  return hn::Sub(bits, hn::Set(DI(), 0x4B400000));
}

// x = n ln 2 + r with |r| <= ln(2)/2; tail = (exp(r) - 1 - r) / r^2. Cephes' expf.
struct ExpParts {
  hn::Vec<DI> n;
  V r;
  V tail;
};
HWY_INLINE ExpParts exp_parts(V x) {
  const V rounded = hn::Round(hn::Mul(x, set1(1.44269504088896341f)));
  V r = hn::NegMulAdd(rounded, set1(0.693359375f), x);
  r = hn::NegMulAdd(rounded, set1(-2.12194440e-4f), r);
  V p = set1(1.9875691500e-4f);
  p = hn::MulAdd(p, r, set1(1.3981999507e-3f));
  p = hn::MulAdd(p, r, set1(8.3334519073e-3f));
  p = hn::MulAdd(p, r, set1(4.1665795894e-2f));
  p = hn::MulAdd(p, r, set1(1.6666665459e-1f));
  p = hn::MulAdd(p, r, set1(5.0000001201e-1f));
  return {integer_of(rounded), r, p};
}
HWY_INLINE V exp_of_remainder(const ExpParts& e) {
  return hn::Add(hn::MulAdd(hn::Mul(e.r, e.r), e.tail, e.r), set1(1.0f));
}

HWY_INLINE V exp(V x) {
  const ExpParts e = exp_parts(x);
  const auto half = hn::ShiftRight<1>(e.n);  // twice, so that 2^128 and subnormals come out right
  V y = hn::Mul(hn::Mul(exp_of_remainder(e), power_of_two(half)), power_of_two(hn::Sub(e.n, half)));
  y = hn::IfThenElse(hn::Gt(x, set1(88.7228394f)), set1(HUGE_VALF), y);
  return hn::IfThenElse(hn::Lt(x, set1(-104.0f)), hn::Zero(D()), y);
}

// For x <= 0; below the smallest normal number the result is 0.
HWY_INLINE V exp_nonpositive(V x) {
  const ExpParts e = exp_parts(x);
  const V y = hn::Mul(exp_of_remainder(e), power_of_two(e.n));
  return hn::IfThenElse(hn::Lt(x, set1(-87.3365479f)), hn::Zero(D()), y);
}

// For x <= 80.
HWY_INLINE V expm1(V x) {
  const ExpParts e = exp_parts(hn::IfThenElse(hn::Lt(x, set1(-80.0f)), set1(-80.0f), x));
  const V t = power_of_two(e.n);
  const V small = hn::MulAdd(hn::Mul(e.r, e.r), e.tail, e.r);
  return hn::MulAdd(t, small, hn::Sub(t, set1(1.0f)));
}

HWY_INLINE V sigmoid(V x) { return hn::Div(set1(1.0f), hn::Add(set1(1.0f), exp(hn::Neg(x)))); }

HWY_INLINE V tanh(V x) {
  V twice = hn::Abs(hn::Add(x, x));
  twice = hn::IfThenElse(hn::Gt(twice, set1(20.0f)), set1(20.0f), twice);
  const V e = expm1(twice);
  return hn::CopySign(hn::Div(e, hn::Add(e, set1(2.0f))), x);
}

// Rational minimax on [-4, 4], as in Eigen and XLA; beyond, erf is 1 in float32.
HWY_INLINE V erf(V x) {
  V c = hn::IfThenElse(hn::Gt(x, set1(4.0f)), set1(4.0f), x);
  c = hn::IfThenElse(hn::Lt(c, set1(-4.0f)), set1(-4.0f), c);
  const V s = hn::Mul(c, c);
  V p = set1(-2.72614225801306e-10f);
  p = hn::MulAdd(p, s, set1(2.77068142495902e-08f));
  p = hn::MulAdd(p, s, set1(-2.10102402082508e-06f));
  p = hn::MulAdd(p, s, set1(-5.69250639462346e-05f));
  p = hn::MulAdd(p, s, set1(-7.34990630326855e-04f));
  p = hn::MulAdd(p, s, set1(-2.95459980854025e-03f));
  p = hn::MulAdd(p, s, set1(-1.60960333262415e-02f));
  V q = set1(-1.45660718464996e-05f);
  q = hn::MulAdd(q, s, set1(-2.13374055278905e-04f));
  q = hn::MulAdd(q, s, set1(-1.68282697438203e-03f));
  q = hn::MulAdd(q, s, set1(-7.37332916720468e-03f));
  q = hn::MulAdd(q, s, set1(-1.42647390514189e-02f));
  return hn::Div(hn::Mul(c, p), q);
}

HWY_INLINE V clamp(V x, V low, V high) {
  x = hn::IfThenElse(hn::Lt(x, low), low, x);
  return hn::IfThenElse(hn::Gt(x, high), high, x);
}

}  // namespace LAZYRT_ISA
}  // namespace lazyrt
