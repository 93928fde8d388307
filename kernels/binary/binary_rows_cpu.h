// The vector forms of functions.inc, compiled once for each instruction set (vector_rows_inl.h says
// what that forbids). binary_rows.h says what is exported.

#include <type_traits>
#include <utility>

#include "kernels/binary/binary_rows.h"
#include "kernels/common/kept.h"
#include "runtime/backends/cpu/vector_rows_inl.h"

namespace lazyrt {
namespace LAZYRT_ISA {
namespace {

#define LAZYRT_BINARY(number, Name, kind, cost, names, scalar, vector)                      \
  struct Name {                                                                             \
    static constexpr int kNumber = number;                                                  \
    static HWY_INLINE auto f([[maybe_unused]] V a, [[maybe_unused]] V b) { return vector; } \
  };
namespace functions {
#include "kernels/binary/functions.inc"
}  // namespace functions
#undef LAZYRT_BINARY

template <class F>
void vector_vector(const float* a, const float* b, float* y, size_t n) {
  map2(a, b, y, n, [](V v, V w) HWY_ATTR { return F::f(v, w); });
}
template <class F>
void vector_scalar(const float* a, const float* b, float* y, size_t n) {
  const V w = set1(*b);
  map(a, y, n, [w](V v) HWY_ATTR { return F::f(v, w); });
}
template <class F>
void scalar_vector(const float* a, const float* b, float* y, size_t n) {
  const V v = set1(*a);
  map(b, y, n, [v](V w) HWY_ATTR { return F::f(v, w); });
}

template <class F>
constexpr BinaryRows rows_of() {
  if constexpr (keeps(DType::kFloat32, kept_types_of(F::kNumber)) &&
                std::is_same_v<decltype(F::f(std::declval<V>(), std::declval<V>())), V>)
    return {vector_vector<F>, vector_scalar<F>, scalar_vector<F>};
  return {};
}

constexpr BinaryRowTable make_binary_rows() {
  BinaryRowTable rows = {};
#define LAZYRT_BINARY(number, Name, ...) rows.at[number] = rows_of<functions::Name>();
#include "kernels/binary/functions.inc"
#undef LAZYRT_BINARY
  return rows;
}

}  // namespace

extern const BinaryRowTable kBinaryRows;
constexpr BinaryRowTable kBinaryRows = make_binary_rows();

}  // namespace LAZYRT_ISA
}  // namespace lazyrt
