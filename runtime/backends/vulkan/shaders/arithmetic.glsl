// The functions that scalar forms of functions.inc call, for T: float (IS_F32), int (IS_I32: all integers of at most 32 bits
// and bools; kType is which) or uvec2 (IS_I64). They compute the same as kernels/common/arithmetic.h.

#ifdef IS_F32
#include "math.glsl"
T wrapping_add(T a, T b) { return a + b; }
T wrapping_sub(T a, T b) { return a - b; }
T wrapping_mul(T a, T b) { return a * b; }
bool is_less(T a, T b) { return a < b; }
bool is_no_more(T a, T b) { return a <= b; }
T maximum(T a, T b) { return is_nan(a) || a > b ? a : b; }
T minimum(T a, T b) { return is_nan(a) || a < b ? a : b; }
T trunc_divide(T a, T b) { return trunc(divide(a, b)); }
T remainder_of(T a, T b) {
  const T r = fmod_of(a, b);
  return r != 0.0 && (r < 0.0) != (b < 0.0) ? r + b : r;
}
T floor_divide(T a, T b) {
  if (b == 0.0) return a / b;
  const T r = fmod_of(a, b);
  T quotient = divide(a - r, b);
  if (r != 0.0 && (b < 0.0) != (r < 0.0)) quotient -= 1.0;
  if (quotient == 0.0) return with_sign_of(0.0, uintBitsToFloat(floatBitsToUint(a) ^ floatBitsToUint(b)));
  const T down = floor(quotient);
  return quotient - down > 0.5 ? down + 1.0 : down;
}
T power(T a, T b) { return pow_of(a, b); }
T load_bits(uvec2 bits) { return uintBitsToFloat(bits.x); }
uint bits_of(T x) { return floatBitsToUint(x); }
bool truth(T x) { return x != 0.0; }
// The forms call the functions of math.glsl by these names.
#define exp exp_of
#define expm1 expm1_of
#define exp2 exp2_of
#define log log_of
#define log1p log1p_of
#define log2 log2_of
#define log10 log10_of
#define tanh tanh_of
#define sinh sinh_of
#define cosh cosh_of
#define sin sin_of
#define cos cos_of
#define tan tan_of
#define asin asin_of
#define acos acos_of
#define atan atan_of
#define atan2 atan2_of
#define erf erf_of
#define fabs magnitude
#define nearbyint roundEven
#define clamp clamp_to
#endif

#ifdef IS_I32
bool is_nan(T x) { return false; }
T wrapping_add(T a, T b) { return wrapped(kType, a + b); }
T wrapping_sub(T a, T b) { return wrapped(kType, a - b); }
T wrapping_mul(T a, T b) { return wrapped(kType, a * b); }
bool is_less(T a, T b) { return a < b; }
bool is_no_more(T a, T b) { return a <= b; }
T maximum(T a, T b) { return a > b ? a : b; }
T minimum(T a, T b) { return a < b ? a : b; }
// GLSL does not define / and % of negative numbers.
uint absolute_bits(int x) { return x < 0 ? uint(-x) : uint(x); }
T trunc_divide(T a, T b) {
  const uint q = absolute_bits(a) / absolute_bits(b);
  return wrapped(kType, (a < 0) != (b < 0) ? -int(q) : int(q));
}
T fmod_of(T a, T b) {
  const uint r = absolute_bits(a) % absolute_bits(b);
  return a < 0 ? -int(r) : int(r);
}
T remainder_of(T a, T b) {
  const T r = fmod_of(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
T floor_divide(T a, T b) {
  const T quotient = trunc_divide(a, b);
  return fmod_of(a, b) != 0 && (a < 0) != (b < 0) ? wrapped(kType, quotient - 1) : quotient;
}
T power(T a, T b) {
  if (b < 0) return a == 1 ? 1 : a == -1 ? ((b & 1) == 0 ? 1 : -1) : 0;
  T result = 1;
  for (; b != 0; b >>= 1, a = wrapping_mul(a, a)) {
    if ((b & 1) != 0) result = wrapping_mul(result, a);
  }
  return result;
}
T load_bits(uvec2 bits) { return int(bits.x); }
uint bits_of(T x) { return uint(x); }
bool truth(T x) { return x != 0; }
#endif

#ifdef IS_I64
#include "int64.glsl"
const T kOne64 = uvec2(1u, 0u);
bool is_nan(T x) { return false; }
T wrapping_add(T a, T b) { return add64(a, b); }
T wrapping_sub(T a, T b) { return sub64(a, b); }
T wrapping_mul(T a, T b) { return mul64(a, b); }
bool is_less(T a, T b) { return less64(a, b); }
bool is_no_more(T a, T b) { return !less64(b, a); }
T maximum(T a, T b) { return less64(b, a) ? a : b; }
T minimum(T a, T b) { return less64(a, b) ? a : b; }
T trunc_divide(T a, T b) { return divide64(a, b); }
T fmod_of(T a, T b) { return remainder64(a, b); }
T remainder_of(T a, T b) {
  const T r = remainder64(a, b);
  return r != T(0) && is_negative64(r) != is_negative64(b) ? add64(r, b) : r;
}
T floor_divide(T a, T b) {
  const T quotient = divide64(a, b);
  const bool up = remainder64(a, b) != T(0) && is_negative64(a) != is_negative64(b);
  return up ? sub64(quotient, kOne64) : quotient;
}
T power(T a, T b) {
  if (is_negative64(b)) {
    if (a == kOne64) return a;
    return a == ~uvec2(0u) ? ((b.x & 1u) == 0u ? kOne64 : a) : T(0);
  }
  T result = kOne64;
  for (; b != T(0); b = shift_right64(b, 1u), a = mul64(a, a)) {
    if ((b.x & 1u) != 0u) result = mul64(result, a);
  }
  return result;
}
T load_bits(uvec2 bits) { return bits; }
bool truth(T x) { return x != T(0); }
#endif

// Element i of an operand of kType as T, and stored where other invocations may store elements of the same word.
#ifdef IS_F32
#define LOAD_T(name, number, i) LOAD_FLOAT(name, number, i)
#elif defined(IS_I32)
#define LOAD_T(name, number, i) LOAD_INT(name, number, kType, i)
#else
#define LOAD_T(name, number, i) LOAD_I64(name, number, i)
#endif
#ifdef IS_I64
#define STORE_T(name, number, i, v) STORE_I64(name, number, i, v)
#else
#define STORE_T(name, number, i, v) STORE_ELEMENT(name, number, kType, i, bits_of(v))
#endif
