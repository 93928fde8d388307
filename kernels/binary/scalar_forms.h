#pragma once

// The scalar forms of functions.inc, a struct each.

#include <cmath>
#include <type_traits>

#include "kernels/binary/binary_function.h"
#include "kernels/common/arithmetic.h"
#include "kernels/common/element.h"
#include "runtime/op/op_def.h"

namespace lazyrt {

/// For bools, the sum and the product are converted to "not zero".
template <class T>
T sum_of(T a, T b) {
  if constexpr (std::is_same_v<T, Bool>) return Bool(a || b);
  return wrapping_add(a, b);
}
template <class T>
T product_of(T a, T b) {
  if constexpr (std::is_same_v<T, Bool>) return Bool(a && b);
  return wrapping_mul(a, b);
}

template <class T>
bool truth(T x) {
  return convert<Bool>(x);
}

template <class T>
bool is_less(T a, T b) {
  return a < b;
}
template <class T>
bool is_no_more(T a, T b) {
  return a <= b;
}

template <class T>
constexpr int kBitsOf = static_cast<int>(sizeof(T)) * 8;

template <class T>
T left_shift(T a, T b) {
  if (b < 0 || b >= kBitsOf<T>) return 0;
  return convert<T>(static_cast<int64_t>(static_cast<uint64_t>(a) << b));
}
template <class T>
T right_shift(T a, T b) {
  constexpr int kMost = std::is_signed_v<T> ? kBitsOf<T> - 1 : kBitsOf<T>;
  const int places = b < 0 || b >= kMost ? kMost : static_cast<int>(b);
  return static_cast<T>(a >> places);
}

/// Euclid's algorithm. The least integer is its own absolute value and divides as a negative
/// number, as in torch.
template <class T>
T gcd_of(T a, T b) {
  const auto absolute = [](T x) { return x < 0 ? wrapping_sub(T(0), x) : x; };
  for (a = absolute(a), b = absolute(b); a != 0;) {
    const T rest = fmod_of(b, a);
    b = a;
    a = rest;
  }
  return b;
}

#define LAZYRT_BINARY(number, Name, kind, cost, names, scalar, vector)                          \
  static_assert(static_cast<int>(fb::BinaryFn::Name) == (number), #Name " has another number"); \
  struct Name {                                                                                 \
    static constexpr int kNumber = number;                                                      \
    static constexpr BinaryKind kKind = BinaryKind::k##kind;                                    \
    template <class T>                                                                          \
    using Result = std::conditional_t<gives_bool(kKind), Bool, T>;                              \
    template <class T>                                                                          \
    static Result<T> f(T a, T b) {                                                              \
      return scalar;                                                                            \
    }                                                                                           \
  };
namespace binary_functions {
#include "kernels/binary/functions.inc"
}  // namespace binary_functions
#undef LAZYRT_BINARY

/// Before a function of BinaryKind::kDivision: refuses integers divided by 0.
template <class T>
Fault check_divisors([[maybe_unused]] fb::BinaryFn fn, [[maybe_unused]] const RunContext& context) {
  if constexpr (!kIsFloat<T> && !std::is_same_v<T, Bool>) {
    if (binary_kind(fn) != BinaryKind::kDivision || context.outputs[0].numel() == 0) return {};
    const T* divisors = context.inputs[1].as<const T>();
    for (int64_t i = 0, n = context.inputs[1].numel(); i < n; ++i) {
      if (divisors[i] == 0) return division_by_zero(fb::EnumNameBinaryFn(fn));
    }
  }
  return {};
}

/// Whether F takes T.
template <class F, class T>
constexpr bool kTakes = (binary_types(F::kKind) & dtype_set(kDTypeOf<T>)) != 0;

}  // namespace lazyrt
