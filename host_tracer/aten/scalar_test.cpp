#include "host_tracer/aten/scalar.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lazyrt {
namespace {

constexpr DType kAll[] = {DType::kBool,    DType::kUInt8,  DType::kInt8,    DType::kInt16,
                          DType::kInt32,   DType::kInt64,  DType::kFloat16, DType::kBFloat16,
                          DType::kFloat32, DType::kFloat64};

TEST(Scalar, KeepsAllDigitsOfIntegers) {
  const int64_t big = std::numeric_limits<int64_t>::max();
  std::vector<uint8_t> bytes;
  append_element(DType::kInt64, big, bytes);
  EXPECT_EQ(read_scalar(DType::kInt64, bytes.data(), 0).as_int(), big);
}

TEST(Scalar, ConvertsBetweenCategories) {
  EXPECT_EQ(Scalar(2.9).as_int(), 2);
  EXPECT_EQ(Scalar(-2.9).as_int(), -2);
  EXPECT_EQ(Scalar(std::nan("")).as_int(), 0);
  EXPECT_EQ(Scalar(1e300).as_int(), std::numeric_limits<int64_t>::max());
  EXPECT_TRUE(Scalar(0.5).as_bool());
  EXPECT_FALSE(Scalar(0).as_bool());
  EXPECT_EQ(Scalar(true).dtype(), DType::kBool);
}

TEST(Scalar, EveryTypeReadsBackWhatWasWritten) {
  for (DType t : kAll) {
    std::vector<uint8_t> bytes;
    append_element(t, 1, bytes);
    ASSERT_EQ(bytes.size(), dtype_size(t));
    EXPECT_EQ(read_scalar(t, bytes.data(), 0).as_double(), 1.0) << dtype_name(t);
  }
}

TEST(Scalar, LimitsOfTypes) {
  EXPECT_EQ(dtype_lowest(DType::kUInt8).as_int(), 0);
  EXPECT_EQ(dtype_lowest(DType::kInt8).as_int(), -128);
  EXPECT_EQ(dtype_lowest(DType::kInt64).as_int(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(dtype_max(DType::kFloat32).as_double(),
            static_cast<double>(std::numeric_limits<float>::max()));
  EXPECT_EQ(dtype_epsilon(DType::kFloat16), 0.0009765625);
}

TEST(Promotion, TypesOfOneKind) {
  EXPECT_EQ(promote_types(DType::kUInt8, DType::kInt8), DType::kInt16);
  EXPECT_EQ(promote_types(DType::kFloat16, DType::kBFloat16), DType::kFloat32);
  EXPECT_EQ(promote_types(DType::kInt64, DType::kFloat16), DType::kFloat16);
  EXPECT_EQ(promote_types(DType::kBool, DType::kInt32), DType::kInt32);
  for (DType a : kAll) {
    for (DType b : kAll) EXPECT_EQ(promote_types(a, b), promote_types(b, a));
  }
}

TEST(Promotion, NumbersAndZeroDimTensorsCountByCategoryOnly) {
  const PromotionOperand tensor = {DType::kInt32, false, false};
  const PromotionOperand scalar = {DType::kInt64, true, false};
  const PromotionOperand integer = {DType::kInt64, true, true};
  const PromotionOperand number = {DType::kFloat64, true, true};
  EXPECT_EQ(result_type({tensor, integer}), DType::kInt32);
  EXPECT_EQ(result_type({tensor, scalar}), DType::kInt32);
  EXPECT_EQ(result_type({tensor, number}), DType::kFloat32);
  EXPECT_EQ(result_type({scalar, integer}), DType::kInt64);
  EXPECT_EQ(result_type({{DType::kFloat16, false, false}, number}), DType::kFloat16);
  EXPECT_EQ(result_type({{DType::kBool, false, false}, integer}), DType::kInt64);
}

}  // namespace
}  // namespace lazyrt
