#pragma once

// The scalar forms of functions.inc, a struct each.

#include <cmath>
#include <type_traits>

#include "kernels/binary/binary_function.h"
#include "kernels/common/arithmetic.h"
#include "kernels/common/element.h"

namespace lazyrt {

/// Of bools the sum and the product are "not zero".
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

#define LAZYRT_BINARY(number, Name, kind, cost, names, scalar, vector)                          \
  static_assert(static_cast<int>(fb::BinaryFn::Name) == (number), #Name " has another number"); \
  struct Name {                                                                                 \
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

/// Whether F takes T.
template <class F, class T>
constexpr bool kTakes = (binary_types(F::kKind) & dtype_set(kDTypeOf<T>)) != 0;

}  // namespace lazyrt
