#pragma once

// The building blocks of the scalar forms of functions.inc.

#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/common/arithmetic.h"
#include "kernels/common/element.h"
#include "kernels/unary/special_forms.h"

namespace lazyrt {

template <class T>
constexpr T kSqrtHalf = T(0.70710678118654752440);
template <class T>
constexpr T kSqrtTwoOverPi = T(0.79788456080286535588);

template <class T>
T absolute(T x) {
  if constexpr (kIsFloat<T>)
    return std::fabs(x);
  else
    return x < 0 ? wrapping_sub(T(0), x) : x;
}

template <class T>
T negative(T x) {
  if constexpr (kIsFloat<T>)
    return -x;
  else
    return wrapping_sub(T(0), x);
}

template <class T>
T relu_of(T x) {
  return x < T(0) ? T(0) : x;
}

template <class T>
T sign_of(T x) {
  return T(int{x > T(0)} - int{x < T(0)});
}

template <class T>
T bitwise_not(T x) {
  if constexpr (std::is_same_v<T, Bool>)
    return Bool(!x);
  else
    return convert<T>(~convert<int64_t>(x));
}

template <class T>
bool is_infinite(T x) {
  if constexpr (kIsFloat<T>)
    return std::isinf(x);
  else
    return (void)x, false;
}

/// -0 and a NaN may have it, too.
template <class T>
bool has_sign(T x) {
  if constexpr (kIsFloat<T>)
    return std::signbit(x);
  else
    return x < T(0);
}

/// As in torch, `high` wins if the bounds cross.
template <class T>
T clamp_in_turn(T x, T low, T high) {
  const T y = x < low ? low : x;
  return y > high ? high : y;
}

/// alpha or beta as an element; for an integer type the nearest integer, so that -inf is "no
/// bound".
template <class T>
T bound(double value) {
  if constexpr (std::is_integral_v<T>) {
    if (value <= static_cast<double>(std::numeric_limits<T>::min()))
      return std::numeric_limits<T>::min();
    if (value >= static_cast<double>(std::numeric_limits<T>::max()))
      return std::numeric_limits<T>::max();
  }
  return convert<T>(value);
}

template <class T>
T log1p_exp(T x) {
  return std::log1p(std::exp(x));
}

template <class T>
T gelu_tanh(T x) {
  const T inner = kSqrtTwoOverPi<T> * (x + T(0.044715) * x * x * x);
  return T(0.5) * x * (1 + std::tanh(inner));
}

}  // namespace lazyrt
