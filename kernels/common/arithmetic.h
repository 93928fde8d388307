#pragma once

// Scalar arithmetic as PyTorch does it, without undefined behaviour on overflow.

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/common/element.h"

namespace lazyrt {

/// Integer arithmetic modulo 2^bits; plain arithmetic on floats; on bool, the result is "not zero".
template <class T>
T wrapping_add(T a, T b) {
  if constexpr (kIsFloat<T>)
    return a + b;
  else
    return convert<T>(static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)));
}
template <class T>
T wrapping_sub(T a, T b) {
  if constexpr (kIsFloat<T>)
    return a - b;
  else
    return convert<T>(static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b)));
}
template <class T>
T wrapping_mul(T a, T b) {
  if constexpr (kIsFloat<T>)
    return a * b;
  else
    return convert<T>(static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)));
}

template <class T>
bool is_nan(T x) {
  if constexpr (kIsFloat<T>)
    return std::isnan(x);
  else
    return (void)x, false;
}
/// The larger / smaller; NaN if either is. For bools, the maximum of true and true is 1, whatever
/// their bytes.
template <class T>
T maximum(T a, T b) {
  if constexpr (std::is_same_v<T, Bool>) return Bool(a || b);
  return is_nan(a) || a > b ? a : b;
}
template <class T>
T minimum(T a, T b) {
  if constexpr (std::is_same_v<T, Bool>) return Bool(a && b);
  return is_nan(a) || a < b ? a : b;
}
/// Into [low, high]; NaN stays.
template <class T>
T clamp(T x, T low, T high) {
  return x < low ? low : x > high ? high : x;
}

/// Quotient rounded towards zero. REQUIRES for integers: b != 0.
template <class T>
T trunc_divide(T a, T b) {
  if constexpr (kIsFloat<T>)
    return std::trunc(a / b);
  else if (std::is_signed_v<T> && b == T(-1))
    return wrapping_sub(T(0), a);
  else
    return static_cast<T>(a / b);
}
/// Remainder with the sign of a. REQUIRES for integers: b != 0.
template <class T>
T fmod_of(T a, T b) {
  if constexpr (kIsFloat<T>)
    return std::fmod(a, b);
  else if (std::is_signed_v<T> && b == T(-1))
    return T(0);
  else
    return static_cast<T>(a % b);
}
/// Remainder with the sign of b, as Python's %. REQUIRES for integers: b != 0.
template <class T>
T remainder_of(T a, T b) {
  const T r = fmod_of(a, b);
  return r != 0 && (r < 0) != (b < 0) ? static_cast<T>(r + b) : r;
}
/// Quotient rounded down, as Python's //. REQUIRES for integers: b != 0.
template <class T>
T floor_divide(T a, T b) {
  if constexpr (kIsFloat<T>) {
    if (b == 0) return a / b;
    const T r = std::fmod(a, b);
    T quotient = (a - r) / b;
    if (r != 0 && (b < 0) != (r < 0)) quotient -= 1;
    if (quotient == 0) return std::copysign(T(0), a / b);
    const T down = std::floor(quotient);
    return quotient - down > T(0.5) ? down + 1 : down;
  } else {
    const T quotient = trunc_divide(a, b);
    return fmod_of(a, b) != 0 && (a < 0) != (b < 0) ? static_cast<T>(quotient - 1) : quotient;
  }
}
/// a to the power b; integers wrap, and negative exponents give 0 except for bases 1 and -1.
template <class T>
T power(T a, T b) {
  if constexpr (kIsFloat<T>) {
    return std::pow(a, b);
  } else {
    if (b < 0)
      return a == 1 ? T(1) : std::is_signed_v<T> && a == T(-1) ? T(b % 2 == 0 ? 1 : -1) : T(0);
    T result = 1;
    for (; b != 0; b = static_cast<T>(b / 2), a = wrapping_mul(a, a)) {
      if (b % 2 != 0) result = wrapping_mul(result, a);
    }
    return result;
  }
}

/// The type in which products of T are summed: integers wrap.
template <class T, bool = kIsFloat<T>>
struct SumOf {
  using Type = T;
};
template <class T>
struct SumOf<T, false> {
  using Type = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
};
template <class T>
using Sum = typename SumOf<T>::Type;

/// Sum of a[i] * b[i], in eight interleaved partial sums that compilers turn into vectors.
template <class T>
T dot(const T* a, const T* b, int64_t n) {
  constexpr int kLanes = 8;
  using S = Sum<T>;
  S sums[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int j = 0; j < kLanes; ++j) sums[j] += static_cast<S>(a[i + j]) * static_cast<S>(b[i + j]);
  }
  S tail = 0;
  for (; i < n; ++i) tail += static_cast<S>(a[i]) * static_cast<S>(b[i]);
  return static_cast<T>(((sums[0] + sums[4]) + (sums[1] + sums[5])) +
                        ((sums[2] + sums[6]) + (sums[3] + sums[7])) + tail);
}

/// y[i] += scale * x[i]; integers wrap.
template <class T>
void add_scaled(T* __restrict y, const T* __restrict x, T scale, int64_t n) {
  using S = Sum<T>;
  for (int64_t i = 0; i < n; ++i) {
    y[i] = static_cast<T>(static_cast<S>(y[i]) + static_cast<S>(scale) * static_cast<S>(x[i]));
  }
}

}  // namespace lazyrt
