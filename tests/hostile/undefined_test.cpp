// What was undefined behaviour: the sanitizers' builds stop at it, the others look at the answer.

#include <gmock/gmock.h>

#include "tests/hostile/agreement.h"

namespace lazyrt {
namespace {

using test::BundleParts;
using test::MethodBuilder;
using testing::HasSubstr;

/// The one element that [1, 3] times [3, 1] gives on this backend.
template <class T>
T product_of(const Backend* backend, DType dtype, const T (&a)[3], const T (&b)[3],
             bool transposed) {
  BundleParts parts;
  MethodBuilder m(&parts);
  fb::MatMulT product;
  product.transpose_b = transposed;
  const int x = m.input("x", dtype, {1, 3});
  const int w = m.constant("w", dtype,
                           transposed ? std::vector<int64_t>{1, 3} : std::vector<int64_t>{3, 1}, b);
  m.output("y", m.infer(default_ops(), product, {x, w}));
  const test::Loaded loaded(parts, default_ops());
  SessionOptions options;
  options.backend = backend;
  Session session = test::make(loaded.method(), options);
  EXPECT_TRUE(session.set_input(0, a, sizeof(a)).ok());
  EXPECT_TRUE(session.run().ok());
  return *session.output(0)->as<T>();
}

TEST(Undefined, ProductsOfIntegersWrap) {
  const int64_t a64[] = {INT64_MAX, INT64_MIN, INT64_MAX}, b64[] = {INT64_MAX, -1, 2};
  const int32_t a32[] = {INT32_MAX, INT32_MIN, INT32_MAX}, b32[] = {INT32_MAX, -1, 2};
  const int16_t a16[] = {INT16_MAX, INT16_MIN, INT16_MAX}, b16[] = {INT16_MAX, -1, 2};
  for (const Backend* backend : {cpu_backend(), reference_backend()}) {
    for (const bool transposed : {false, true}) {
      // (2^63 - 1)^2 + 2^63 + 2^64 - 2, modulo 2^64, and so on
      EXPECT_EQ(product_of(backend, DType::kInt64, a64, b64, transposed), INT64_MAX);
      EXPECT_EQ(product_of(backend, DType::kInt32, a32, b32, transposed), INT32_MAX);
      EXPECT_EQ(product_of(backend, DType::kInt16, a16, b16, transposed), INT16_MAX);
    }
  }
}

TEST(Undefined, APaddedExtentThatOverflowsIsRefused) {
  constexpr int64_t kHalf = int64_t{1} << 62;
  LoadOptions all;
  all.work_limit = all.node_work_limit = UINT64_MAX;
  for (const fb::PadMode mode : {fb::PadMode::Constant, fb::PadMode::Circular}) {
    BundleParts parts;
    MethodBuilder m(&parts);
    fb::PadT pad;
    pad.mode = mode;
    pad.before = {kHalf, 0};
    pad.after = {0, 0};
    const int x = m.input("x", DType::kUInt8, {kHalf, 0});
    m.output("y", m.node(pad, {x}, DType::kUInt8, {INT64_MAX, 0}));
    const test::AlignedBytes file = test::write_bundle(parts);
    const Status status = Program::load(file.span(), default_ops(), all).status();
    EXPECT_EQ(status.error(), Error::kInvalidBundle);
    EXPECT_THAT(status.message(), HasSubstr("node 0 (pad)"));
    EXPECT_THAT(status.message(), HasSubstr("dim 0 of the result overflows"));
  }
}

/// Padding of half the kernel, as much as there may be.
template <class Table>
BundleParts one_vast_window() {
  BundleParts parts;
  MethodBuilder m(&parts);
  Table pool;
  pool.kernel_h = pool.kernel_w = pool.stride_h = pool.stride_w = INT32_MAX;
  pool.pad_top = pool.pad_left = pool.pad_bottom = pool.pad_right = INT32_MAX / 2;
  m.output("y", m.infer(default_ops(), pool, {m.input("x", DType::kFloat32, {1, 2, 2, 4})}));
  return parts;
}

TEST(Undefined, AWindowOfTheLargestIntegerHoldsTheWholeImage) {
  test::expect_agreement(one_vast_window<fb::MaxPool2dT>());
  test::expect_agreement(one_vast_window<fb::AvgPool2dT>());
  const test::Loaded loaded(one_vast_window<fb::MaxPool2dT>(), default_ops());
  const std::vector<float> most = test::run(loaded.method(), cpu_backend());
  const std::vector<float> x = test::random_floats(16, 1);
  ASSERT_EQ(most.size(), 4u);
  for (size_t c = 0; c < 4; ++c) {
    EXPECT_EQ(most[c], std::max({x[c], x[4 + c], x[8 + c], x[12 + c]}));
  }
}

/// Any byte but 0 is true: one backend gave it on as it was, the other made it 1.
TEST(Undefined, WhatIsComputedOfBoolsIs0Or1) {
  BundleParts parts;
  MethodBuilder m(&parts);
  const int x = m.input("x", DType::kBool, {9});
  for (const auto fn : {fb::BinaryFn::Maximum, fb::BinaryFn::Minimum, fb::BinaryFn::Add}) {
    fb::BinaryT both;
    both.fn = fn;
    m.output(fb::EnumNameBinaryFn(fn), m.infer(default_ops(), both, {x, x}));
  }
  for (const auto fn : {fb::ReduceFn::Max, fb::ReduceFn::Min}) {
    fb::ReduceT reduce;
    reduce.fn = fn, reduce.axes = {0};
    m.output(fb::EnumNameReduceFn(fn), m.infer(default_ops(), reduce, {x}));
  }
  const test::Loaded loaded(parts, default_ops());
  for (const Backend* backend : {cpu_backend(), reference_backend()}) {
    SessionOptions options;
    options.backend = backend;
    Session session = test::make(loaded.method(), options);
    const std::vector<uint8_t> high(9, 255);
    ASSERT_TRUE(session.set_input(0, high.data(), high.size()).ok());
    ASSERT_TRUE(session.run().ok());
    for (size_t i = 0; i < loaded.method().output_count(); ++i) {
      const TensorView y = *session.output(i);
      for (int64_t k = 0; k < y.numel(); ++k) EXPECT_EQ(y.as<const uint8_t>()[k], 1) << i;
    }
  }
}

}  // namespace
}  // namespace lazyrt
