// A function of one operand, of T.

#include "linear.glsl"
#include "operands.glsl"
#include "elements.glsl"

layout(constant_id = 0) const uint kFunction = 0;
layout(constant_id = 1) const uint kType = 1;
layout(constant_id = 2) const uint kResult = 1;
layout(constant_id = 3) const bool kGivesTruth = false;

PUSH
  uint count;
  uint alpha_low, alpha_high;
  uint beta_low, beta_high;
PUSH_END

OPERAND(0, , x);
OPERAND(1, , y);
OPERAND_4(0, , x4);
OPERAND_4(1, , y4);

#include "arithmetic.glsl"

// The functions that the scalar forms call (kernels/unary/scalar_forms.h).
#ifdef IS_F32
const float kSqrtHalf = 0.70710678118654752440;
const float kSqrtTwoOverPi = 0.79788456080286535588;
T absolute(T v) { return magnitude(v); }
T negative(T v) { return -v; }
T relu_of(T v) { return v < 0.0 ? 0.0 : v; }
T sign_of(T v) { return T(int(v > 0.0) - int(v < 0.0)); }
T log1p_exp(T v) { return log1p(exp(v)); }
T gelu_tanh(T v) {
  const T inner = kSqrtTwoOverPi * (v + 0.044715 * v * v * v);
  return 0.5 * v * (1.0 + tanh(inner));
}
T sinc_of(T v) {
  if (v == 0.0) return 1.0;
  precise T product = kPi * v;
  return sin(product) / product;
}
#define CASE_Floats(number, form) case number: return form;
#define CASE_Rounding(number, form) case number: return form;
#define CASE_Bits(number, form)
#else
bool has_sign(T v) { return is_less(v, T(0)); }
bool is_infinite(T v) { return false; }
T negative(T v) { return wrapping_sub(T(0), v); }
T absolute(T v) { return has_sign(v) ? negative(v) : v; }
T relu_of(T v) { return has_sign(v) ? T(0) : v; }
#ifdef IS_I32
T sign_of(T v) { return sign(v); }
T bitwise_not(T v) { return kType == kBool ? 1 - v : wrapped(kType, ~v); }
#else
T sign_of(T v) { return has_sign(v) ? ~uvec2(0u) : v == T(0) ? v : kOne64; }
T bitwise_not(T v) { return ~v; }
#endif
#define CASE_Floats(number, form)
#define CASE_Rounding(number, form) case number: return x;
#define CASE_Bits(number, form) case number: return form;
#endif
#define CASE_Numbers(number, form) case number: return form;
#define CASE_Truth(number, form)
T clamp_in_turn(T v, T low, T high) {
  const T raised = is_less(v, low) ? low : v;
  return is_less(high, raised) ? high : raised;
}

T value_of(T x, T alpha, T beta) {
  switch (kFunction) {
#define LAZYRT_UNARY(number, Name, kind, names, example, form, vector) CASE_##kind(number, form)
#include "kernels/unary/functions.glsl"
#undef LAZYRT_UNARY
  }
  return x;
}

#undef CASE_Floats
#undef CASE_Rounding
#undef CASE_Bits
#undef CASE_Numbers
#undef CASE_Truth
#define CASE_Floats(number, form)
#define CASE_Rounding(number, form)
#define CASE_Bits(number, form)
#define CASE_Numbers(number, form)
#define CASE_Truth(number, form) case number: return form;
bool truth_of(T x) {
  switch (kFunction) {
#define LAZYRT_UNARY(number, Name, kind, names, example, form, vector) CASE_##kind(number, form)
#include "kernels/unary/functions.glsl"
#undef LAZYRT_UNARY
  }
  return false;
}

void main() {
  const uint first = 4u * invocation();
  if (first >= push.count) return;
  const T alpha = load_bits(uvec2(push.alpha_low, push.alpha_high));
  const T beta = load_bits(uvec2(push.beta_low, push.beta_high));
  uvec4 results = uvec4(0u);
#ifndef IS_I64
  if (packing(kType) == 0u && !kGivesTruth && VECTORS_OF(0) && VECTORS_OF(1) && first + 4u <= push.count) {
    const uvec4 words = VECTOR(x4, 0, first);
    for (uint k = 0u; k < 4u; ++k)
      results[k] = bits_of(value_of(load_bits(uvec2(words[k], 0u)), alpha, beta));
    VECTOR(y4, 1, first) = results;
    return;
  }
#endif
  for (uint k = 0u; k < 4u && first + k < push.count; ++k) {
    const uint i = first + k;
    const T v = LOAD_T(x, 0, i);
    if (kGivesTruth) {
      results[k] = uint(truth_of(v));
    } else {
#ifdef IS_I64
      const T r = value_of(v, alpha, beta);
      STORE_I64(y, 1, i, r);
#else
      results[k] = bits_of(value_of(v, alpha, beta));
#endif
    }
  }
#ifdef IS_I64
  if (!kGivesTruth) return;
#endif
  STORE_4(y, 1, kResult, first, push.count, results);
}
