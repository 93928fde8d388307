// A function of two operands with broadcasting, of T.

#include "linear.glsl"
#include "operands.glsl"
#include "elements.glsl"

layout(constant_id = 0) const uint kFunction = 0;
layout(constant_id = 1) const uint kType = 1;
layout(constant_id = 2) const uint kResult = 1;
layout(constant_id = 3) const bool kGivesTruth = false;
layout(constant_id = 4) const bool kDividesIntegers = false;  ///< binding 3 is the error word

PUSH
  uint count;
  uint failure;
  uint rank;
  uint extents[8];
  uint a_strides[8];
  uint b_strides[8];
PUSH_END

OPERAND(0, , left);
OPERAND(1, , right);
OPERAND(2, , y);
OPERAND_4(0, , left4);
OPERAND_4(1, , right4);
OPERAND_4(2, , y4);
#define ERROR_BINDING 3
#include "error.glsl"

#include "arithmetic.glsl"

// The functions that the scalar forms call (kernels/binary/scalar_forms.h).
#ifdef IS_F32
T sum_of(T a, T b) { return a + b; }
T product_of(T a, T b) { return a * b; }
#define CASE_Floats(number, form) case number: return form;
#define CASE_Integers(number, form)
#define CASE_Bits(number, form)
#else
#define CASE_Floats(number, form)
#define CASE_Integers(number, form) case number: return form;
#define CASE_Bits(number, form) case number: return form;
#endif
#ifdef IS_I32
int bits_in_type() { return kType == kI32 ? 32 : kType == kI16 ? 16 : 8; }
// Of bools as of numbers: the result is 1 where it is not 0.
T sum_of(T a, T b) { return wrapping_add(a, b); }
T product_of(T a, T b) { return wrapping_mul(a, b); }
T left_shift(T a, T b) { return b < 0 || b >= bits_in_type() ? 0 : wrapped(kType, a << b); }
T right_shift(T a, T b) {
  const int most = kType == kU8 ? 8 : bits_in_type() - 1;
  return a >> (b < 0 || b >= most ? most : b);
}
T absolute(T a) { return a < 0 ? wrapping_sub(0, a) : a; }
#endif
#ifdef IS_I64
T sum_of(T a, T b) { return add64(a, b); }
T product_of(T a, T b) { return mul64(a, b); }
T left_shift(T a, T b) { return b.y != 0u || b.x >= 64u ? T(0) : shift_left64(a, b.x); }
T right_shift(T a, T b) { return shift_right64(a, b.y != 0u || b.x >= 63u ? 63u : b.x); }
T absolute(T a) { return absolute64(a); }
#endif
#ifndef IS_F32
// The two take turns instead of being exchanged: llvmpipe (Mesa 22.3) loses one of two vectors that a loop exchanges.
T gcd_of(T a, T b) {
  a = absolute(a);
  b = absolute(b);
  for (int step = 0; step < 47 && a != T(0); ++step) {  // enough for any numbers of 64 bits
    b = fmod_of(b, a);
    if (b == T(0)) return a;
    a = fmod_of(a, b);
  }
  return b;
}
#endif
#define CASE_Any(number, form) case number: return form;
#define CASE_Numbers(number, form) case number: return form;
#define CASE_Division(number, form) case number: return form;
#define CASE_Logic(number, form)
#define CASE_Comparison(number, form)

T value_of(T a, T b) {
  switch (kFunction) {
#define LAZYRT_BINARY(number, Name, kind, cost, names, form, vector) CASE_##kind(number, form)
#include "kernels/binary/functions.glsl"
#undef LAZYRT_BINARY
  }
  return a;
}

#undef CASE_Any
#undef CASE_Numbers
#undef CASE_Floats
#undef CASE_Integers
#undef CASE_Division
#undef CASE_Bits
#undef CASE_Logic
#undef CASE_Comparison
#define CASE_Any(number, form)
#define CASE_Numbers(number, form)
#define CASE_Floats(number, form)
#define CASE_Integers(number, form)
#define CASE_Division(number, form)
#define CASE_Bits(number, form)
#define CASE_Logic(number, form) case number: return form;
#define CASE_Comparison(number, form) case number: return form;
bool truth_of(T a, T b) {
  switch (kFunction) {
#define LAZYRT_BINARY(number, Name, kind, cost, names, form, vector) CASE_##kind(number, form)
#include "kernels/binary/functions.glsl"
#undef LAZYRT_BINARY
  }
  return false;
}

/// Where the operands of result `place` are.
uvec2 operands_of(uint place) {
  uint i = 0u, j = 0u;
  for (uint d = push.rank - 1u; d > 0u; --d) {
    const uint outer = place / push.extents[d];
    const uint index = place - outer * push.extents[d];
    i += index * push.a_strides[d];
    j += index * push.b_strides[d];
    place = outer;
  }
  return uvec2(i + place * push.a_strides[0], j + place * push.b_strides[0]);
}

#ifndef IS_I64
/// Where four results lie in a row, and each operand has four in a row for them or one for all.
bool computes_vectors() {
  const uint inner = push.rank - 1u;
  return packing(kType) == 0u && !kGivesTruth && !kDividesIntegers && (push.extents[inner] & 3u) == 0u &&
         push.a_strides[inner] <= 1u && push.b_strides[inner] <= 1u && VECTORS_OF(0) && VECTORS_OF(1) && VECTORS_OF(2);
}
#endif

void main() {
  const uint first = 4u * invocation();
  if (first >= push.count) return;
  uvec4 results = uvec4(0u);
#ifndef IS_I64
  if (computes_vectors()) {
    const uvec2 at = operands_of(first);
    const uint inner = push.rank - 1u;
    const bool a_row = push.a_strides[inner] == 1u, b_row = push.b_strides[inner] == 1u;
    if ((!a_row || (at.x & 3u) == 0u) && (!b_row || (at.y & 3u) == 0u)) {
      const uvec4 a = a_row ? VECTOR(left4, 0, at.x) : uvec4(WORD(left, 0, at.x));
      const uvec4 b = b_row ? VECTOR(right4, 1, at.y) : uvec4(WORD(right, 1, at.y));
      for (uint k = 0u; k < 4u; ++k)
        results[k] = bits_of(value_of(load_bits(uvec2(a[k], 0u)), load_bits(uvec2(b[k], 0u))));
      VECTOR(y4, 2, first) = results;
      return;
    }
  }
#endif
  for (uint k = 0u; k < 4u && first + k < push.count; ++k) {
    const uvec2 at = operands_of(first + k);
    const uint i = at.x, j = at.y;
    const T a = LOAD_T(left, 0, i), b = LOAD_T(right, 1, j);
    if (kGivesTruth) {
      results[k] = uint(truth_of(a, b));
      continue;
    }
    if (kDividesIntegers && b == T(0)) {
      fail(push.failure);
      continue;
    }
#ifdef IS_I64
    const T r = value_of(a, b);
    STORE_I64(y, 2, first + k, r);
#else
    results[k] = bits_of(value_of(a, b));
#endif
  }
#ifdef IS_I64
  if (!kGivesTruth) return;
#endif
  STORE_4(y, 2, kResult, first, push.count, results);
}
