// Elementary functions on Highway vectors of float32. Included once per instruction set; see
// vector_ops_inl.h. No function here touches memory.

// A file is compiled for one instruction set, by its flags. Where Highway can dispatch by itself,
// on Arm with g++, it asks for one by attributes instead, with AES, which a Cortex-A72 lacks; this
// is its word for "cannot".
#define TOOLCHAIN_MISS_SYS_AUXV_H
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

// NaN stays.
HWY_INLINE V clamp(V x, V low, V high) {
  x = hn::IfThenElse(hn::Lt(x, low), low, x);
  return hn::IfThenElse(hn::Gt(x, high), high, x);
}

// Highway's for 32-bit Arm multiplies x by an estimate of 1 / sqrt(x), which makes NaN of infinity
// and 0 of -0.
HWY_INLINE V sqrt(V x) {
#if HWY_ARCH_ARM_V7
  const auto stays = hn::Or(hn::Eq(x, hn::Zero(D())), hn::Eq(x, set1(HUGE_VALF)));
  return hn::IfThenElse(stays, x, hn::Sqrt(x));
#else
  return hn::Sqrt(x);
#endif
}

// 2^n for n in [-126, 127]; infinity for 128.
HWY_INLINE V power_of_two(hn::Vec<DI> n) {
  return hn::BitCast(D(), hn::ShiftLeft<23>(hn::Add(n, hn::Set(DI(), 127))));
}

// A number of at most 2^22 plus this is rounded to an integer, which stands in the lowest bits.
constexpr float kRoundingMagic = 12582912.0f;  // 1.5 * 2^23

// That integer; larger numbers give some integer: a conversion would be undefined for these where
// Highway emulates vectors.
HWY_INLINE hn::Vec<DI> integer_of_shifted(V shifted) {
  return hn::Sub(hn::BitCast(DI(), shifted), hn::Set(DI(), 0x4B400000));
}

// x = n ln 2 + r with |r| <= ln(2)/2; tail = (exp(r) - 1 - r) / r^2. Cephes' expf.
struct ExpParts {
  hn::Vec<DI> n;
  V r;
  V tail;
};
HWY_INLINE ExpParts exp_parts(V x) {
  const V magic = set1(kRoundingMagic);
  const V shifted = hn::MulAdd(x, set1(1.44269504088896341f), magic);
  const V rounded = hn::Sub(shifted, magic);
  V r = hn::NegMulAdd(rounded, set1(0.693359375f), x);
  r = hn::NegMulAdd(rounded, set1(-2.12194440e-4f), r);
  V p = set1(1.9875691500e-4f);
  p = hn::MulAdd(p, r, set1(1.3981999507e-3f));
  p = hn::MulAdd(p, r, set1(8.3334519073e-3f));
  p = hn::MulAdd(p, r, set1(4.1665795894e-2f));
  p = hn::MulAdd(p, r, set1(1.6666665459e-1f));
  p = hn::MulAdd(p, r, set1(5.0000001201e-1f));
  return {integer_of_shifted(shifted), r, p};
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

// e^-87 for x below -87, infinity from 89 on. NaN stays: of two operands x86's Min and Max give the
// second if one is NaN; Highway's for 64-bit Arm and emulated ones give the number.
HWY_INLINE V exp_bounded(V x) {
  const V low = set1(-87.0f), high = set1(89.0f);
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  x = hn::Max(low, hn::Min(high, x));
#else
  x = clamp(x, low, high);
#endif
  const ExpParts e = exp_parts(x);
  return hn::Mul(exp_of_remainder(e), power_of_two(e.n));
}

// For x <= 80.
HWY_INLINE V expm1(V x) {
  const ExpParts e = exp_parts(hn::IfThenElse(hn::Lt(x, set1(-80.0f)), set1(-80.0f), x));
  const V t = power_of_two(e.n);
  const V small = hn::MulAdd(hn::Mul(e.r, e.r), e.tail, e.r);
  return hn::MulAdd(t, small, hn::Sub(t, set1(1.0f)));
}

HWY_INLINE V sigmoid(V x) {
  return hn::Div(set1(1.0f), hn::Add(set1(1.0f), exp_bounded(hn::Neg(x))));
}

HWY_INLINE V tanh(V x) {
  V twice = hn::Abs(hn::Add(x, x));
  twice = hn::IfThenElse(hn::Gt(twice, set1(20.0f)), set1(20.0f), twice);
  const V e = expm1(twice);
  return hn::CopySign(hn::Div(e, hn::Add(e, set1(2.0f))), x);
}

// Rational minimax on [-4, 4], as in Eigen and XLA; beyond, erf is 1 in float32. Divided before it
// is multiplied by x, so that a subnormal x keeps its digits.
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
  return hn::Mul(c, hn::Div(p, q));
}

}  // namespace LAZYRT_ISA
}  // namespace lazyrt
