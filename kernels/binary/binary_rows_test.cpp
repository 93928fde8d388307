// The vector forms against the scalar ones, on every instruction set that this processor has and at
// lengths around a vector.

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "kernels/binary/binary_rows.h"
#include "kernels/binary/scalar_forms.h"
#include "runtime/backends/cpu/vector_ops.h"

namespace lazyrt {
namespace {

using Scalar = float (*)(float, float);

template <class F>
constexpr Scalar scalar_of() {
  if constexpr (std::is_same_v<typename F::template Result<float>, float> && kTakes<F, float>)
    return F::template f<float>;
  return nullptr;
}

Scalar scalar_form(fb::BinaryFn fn) {
  switch (fn) {
#define LAZYRT_BINARY(number, Name, ...) \
  case fb::BinaryFn::Name:               \
    return scalar_of<binary_functions::Name>();
#include "kernels/binary/functions.inc"
#undef LAZYRT_BINARY
  }
  return nullptr;
}

constexpr float kBound = 12345.0f;
const size_t kRowLengths[] = {1, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 259};

struct Operands {
  explicit Operands(size_t n) : a(n), b(n), y(n + 1, kBound) {
    std::mt19937 random(static_cast<uint32_t>(n));
    std::normal_distribution<float> normal;
    for (size_t i = 0; i < n; ++i) a[i] = normal(random), b[i] = normal(random);
    for (size_t i = 0; i < n; i += 3) (i % 2 == 0 ? a : b)[i] = i % 4 == 0 ? NAN : HUGE_VALF;
  }
  std::vector<float> a, b, y;
};

/// NEON on 32-bit Arm has no division: quotients are products with a refined reciprocal.
#if defined(__arm__) && !defined(__aarch64__)
constexpr float kRounding = 3e-7f;
#else
constexpr float kRounding = 0;
#endif

bool is_right(float y, float right) {
  if (std::isnan(right)) return std::isnan(y);
  return y == right || std::fabs(y - right) <= kRounding * std::fabs(right);
}

void check(const std::string& what, Scalar f, BinaryRow row, size_t n, bool one_a, bool one_b) {
  Operands o(n);
  row(o.a.data(), o.b.data(), o.y.data(), n);
  for (size_t i = 0; i < n; ++i) {
    const float right = f(o.a[one_a ? 0 : i], o.b[one_b ? 0 : i]);
    ASSERT_TRUE(is_right(o.y[i], right))
        << what << " " << n << " at " << i << ": " << o.y[i] << ", not " << right;
  }
  ASSERT_EQ(o.y[n], kBound) << what;
}

TEST(BinaryRows, AreTheScalarForms) {
  const VectorOps* all[kMaxVectorOps];
  const size_t count = all_vector_ops(all);
  for (size_t i = 0; i < count; ++i) {
    const BinaryRowTable& table = LAZYRT_OF_ISA(all[i]->kind, kBinaryRows);
    for (const fb::BinaryFn fn : fb::EnumValuesBinaryFn()) {
      const BinaryRows& rows = table.at[static_cast<size_t>(fn)];
      if (rows.vector_vector == nullptr) continue;
      const std::string what = std::string(all[i]->isa) + " " + fb::EnumNameBinaryFn(fn);
      ASSERT_NE(scalar_form(fn), nullptr) << what;
      for (const size_t n : kRowLengths) {
        check(what, scalar_form(fn), rows.vector_vector, n, false, false);
        check(what, scalar_form(fn), rows.vector_scalar, n, false, true);
        check(what, scalar_form(fn), rows.scalar_vector, n, true, false);
      }
    }
  }
}

}  // namespace
}  // namespace lazyrt
