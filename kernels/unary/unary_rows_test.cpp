// The vector forms against the scalar ones, on every instruction set that this processor has and at
// lengths around a vector.

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "kernels/unary/unary_rows.h"
#include "lazyrt/runtime.h"
#include "runtime/backends/cpu/vector_ops.h"
#include "runtime/op/op_def.h"

namespace lazyrt {
namespace {

constexpr float kGuard = 12345.0f;
constexpr size_t kPad = 19;
const size_t kLengths[] = {0, 1, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 259};
constexpr float kAlpha = 0.75f, kBeta = 1.5f;

/// n floats with guards on both sides, so that a write outside shows.
std::vector<float> guarded(const std::vector<float>& values) {
  std::vector<float> all(values.size() + 2 * kPad, kGuard);
  std::copy(values.begin(), values.end(), all.begin() + kPad);
  return all;
}

std::vector<float> numbers(size_t n) {
  std::mt19937 random(static_cast<uint32_t>(n));
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> x(n);
  for (float& v : x) v = normal(random);
  const float special[] = {NAN, -0.0f, HUGE_VALF, -HUGE_VALF};
  for (size_t i = 0; i < 4 && 2 * i + 1 < n; ++i) x[n - 1 - 2 * i] = special[i];
  return x;
}

/// By the reference kernel.
std::vector<float> expected(fb::UnaryFn fn, std::vector<float> x) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(
      fb::CreateUnary(builder, fn, static_cast<double>(kAlpha), static_cast<double>(kBeta)));
  const OpAttrs attrs = {fb::OpAttrs::Unary,
                         flatbuffers::GetRoot<fb::Unary>(builder.GetBufferPointer())};
  std::vector<float> y(x.size());
  const Shape shape = {static_cast<int64_t>(x.size())};
  const TensorView in[] = {{x.data(), DType::kFloat32, shape}};
  const TensorView out[] = {{y.data(), DType::kFloat32, shape}};
  RunContext context;
  context.attrs = attrs;
  context.inputs = in;
  context.outputs = out;
  const OpEntry* unary = default_ops().find(attrs);
  EXPECT_TRUE(unary->kernels[0]->run(nullptr, context).ok());
  return y;
}

bool near(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b || std::fabs(a - b) <= 2e-6f * std::fmax(1.0f, std::fabs(a));
}

void check_row(const char* isa, fb::UnaryFn fn, UnaryRow row, size_t n) {
  const std::vector<float> x = numbers(n);
  const std::vector<float> right = expected(fn, x);
  const std::vector<float> in = guarded(x);
  std::vector<float> out = guarded(x);
  row(in.data() + kPad, out.data() + kPad, n, kAlpha, kBeta);
  for (size_t i = 0; i < n; ++i) {
    ASSERT_TRUE(near(right[i], out[kPad + i]))
        << isa << " " << fb::EnumNameUnaryFn(fn) << " of " << x[i] << " is " << out[kPad + i]
        << ", not " << right[i];
  }
  for (size_t i = 0; i < kPad; ++i) ASSERT_TRUE(out[i] == kGuard && out[kPad + n + i] == kGuard);
}

TEST(UnaryRows, AgreeWithTheScalarForms) {
  const VectorOps* all[kMaxVectorOps];
  const size_t count = all_vector_ops(all);
  for (size_t i = 0; i < count; ++i) {
    const UnaryRows& rows = LAZYRT_OF_ISA(all[i]->kind, kUnaryRows);
    for (const fb::UnaryFn fn : fb::EnumValuesUnaryFn()) {
      const UnaryRow row = rows.at[static_cast<size_t>(fn)];
      ASSERT_EQ(row == nullptr, vector_baseline::kUnaryRows.at[static_cast<size_t>(fn)] == nullptr);
      if (row == nullptr) continue;
      for (const size_t n : kLengths) check_row(all[i]->isa, fn, row, n);
    }
  }
}

}  // namespace
}  // namespace lazyrt
