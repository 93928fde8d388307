// The vector forms of functions.inc, compiled once for each instruction set (vector_rows_inl.h says
// what that forbids). unary_rows.h says what is exported.

#include <type_traits>
#include <utility>

#include "kernels/common/kept.h"
#include "kernels/unary/unary_rows.h"
#include "runtime/backends/cpu/vector_rows_inl.h"

namespace lazyrt {
namespace LAZYRT_ISA {
namespace {

HWY_INLINE V sign(V x) {
  return hn::Sub(hn::IfThenElseZero(hn::Gt(x, hn::Zero(D())), set1(1.0f)),
                 hn::IfThenElseZero(hn::Lt(x, hn::Zero(D())), set1(1.0f)));
}
HWY_INLINE V relu6_of_three_more(V x) {
  return clamp(hn::Add(x, set1(3.0f)), hn::Zero(D()), set1(6.0f));
}
HWY_INLINE V gelu(V x) {
  const V half = hn::Mul(x, set1(0.5f));
  return hn::MulAdd(half, erf(hn::Mul(x, set1(0.70710678118654752f))), half);
}
// 0.5 (1 + tanh(u)) = sigmoid(2 u)
HWY_INLINE V gelu_tanh(V x) {
  const V cubic = hn::MulAdd(hn::Mul(x, x), set1(0.044715f), set1(1.0f));
  return hn::Mul(x, sigmoid(hn::Mul(hn::Mul(x, cubic), set1(2.0f * 0.7978845608028654f))));
}
// tanh(log(1 + e)) = (e^2 + 2 e) / (e^2 + 2 e + 2)
HWY_INLINE V mish(V x) {
  const V e = exp(hn::IfThenElse(hn::Gt(x, set1(20.0f)), set1(20.0f), x));
  const V s = hn::MulAdd(e, e, hn::Add(e, e));
  return hn::Mul(x, hn::Div(s, hn::Add(s, set1(2.0f))));
}

#define LAZYRT_UNARY(number, Name, kind, names, example, scalar, vector)         \
  struct Name {                                                                  \
    static constexpr int kNumber = number;                                       \
    static HWY_INLINE auto f([[maybe_unused]] V x, [[maybe_unused]] float alpha, \
                             [[maybe_unused]] float beta) {                      \
      return vector;                                                             \
    }                                                                            \
  };
namespace functions {
#include "kernels/unary/functions.inc"
}  // namespace functions
#undef LAZYRT_UNARY

template <class F>
void row(const float* x, float* y, size_t n, float alpha, float beta) {
  map(x, y, n, [=](V v) HWY_ATTR { return F::f(v, alpha, beta); });
}

template <class F>
constexpr UnaryRow row_of() {
  if constexpr (keeps(DType::kFloat32, kept_types_of(F::kNumber)) &&
                std::is_same_v<decltype(F::f(std::declval<V>(), 0.0f, 0.0f)), V>)
    return row<F>;
  return nullptr;
}

constexpr UnaryRows make_unary_rows() {
  UnaryRows rows = {};
#define LAZYRT_UNARY(number, Name, ...) rows.at[number] = row_of<functions::Name>();
#include "kernels/unary/functions.inc"
#undef LAZYRT_UNARY
  return rows;
}

}  // namespace

extern const UnaryRows kUnaryRows;
constexpr UnaryRows kUnaryRows = make_unary_rows();

}  // namespace LAZYRT_ISA
}  // namespace lazyrt
