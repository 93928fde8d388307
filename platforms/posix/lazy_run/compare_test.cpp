#include "platforms/posix/lazy_run/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace lazyrt::run {
namespace {

Difference floats(std::vector<float> a, std::vector<float> b, Tolerance tolerance = {0, 1e-4}) {
  const Shape shape = {static_cast<int64_t>(a.size())};
  return compare({a.data(), DType::kFloat32, shape}, {b.data(), DType::kFloat32, shape}, tolerance);
}

TEST(Compare, IsRelativeToTheLargestExpected) {
  EXPECT_TRUE(floats({100.009f, 0.009f}, {100, 0}).ok());
  const Difference d = floats({100, 0.02f}, {100, 0});
  EXPECT_FALSE(d.ok());
  EXPECT_EQ(d.at, 1);
  EXPECT_FLOAT_EQ(static_cast<float>(d.max_abs_error), 0.02f);
  EXPECT_EQ(d.largest, 100);
  EXPECT_TRUE(floats({0.5f}, {0}, {0.5, 0}).ok());
  EXPECT_FALSE(floats({0.5f}, {0}, {0.4, 0}).ok());
  EXPECT_TRUE(floats({}, {}).ok());
  EXPECT_TRUE(floats({1}, {1}, {-1, 0}).ok()) << "there is no element to name";
}

/// Of 1 and its neighbours in half precision, in which a step above 1 is 2^-10.
TEST(Compare, HalvesMayDifferByFourSteps) {
  const auto is_ok = [](uint16_t a, uint16_t b) {
    const Shape shape = {1};
    return compare({&a, DType::kFloat16, shape}, {&b, DType::kFloat16, shape},
                   default_tolerance(DType::kFloat16))
        .ok();
  };
  EXPECT_TRUE(is_ok(0x3c04, 0x3c00));
  EXPECT_FALSE(is_ok(0x3c05, 0x3c00));
  EXPECT_FALSE(floats({1.0039f}, {1}, default_tolerance(DType::kFloat32)).ok());
}

TEST(Compare, NanAndInfinityMustAgree) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::nanf("");
  EXPECT_TRUE(floats({nan, inf, -inf, 1}, {nan, inf, -inf, 1}).ok());
  EXPECT_FALSE(floats({nan}, {1}).ok());
  EXPECT_FALSE(floats({1}, {nan}).ok());
  EXPECT_FALSE(floats({inf}, {-inf}).ok());
  EXPECT_FALSE(floats({1, 5}, {inf, 5}, {1000, 1}).ok());
}

TEST(Compare, IntegersMustBeEqual) {
  int64_t a[2] = {(int64_t{1} << 60) + 1, 7};
  int64_t b[2] = {int64_t{1} << 60, 7};
  const TensorView va = {a, DType::kInt64, {2}};
  const TensorView vb = {b, DType::kInt64, {2}};
  EXPECT_FALSE(compare(va, vb, {100, 1}).ok());
  EXPECT_TRUE(compare(va, va, {0, 0}).ok());
  uint8_t p[2] = {1, 0};
  uint8_t q[2] = {1, 1};
  EXPECT_FALSE(compare({p, DType::kBool, {2}}, {q, DType::kBool, {2}}, {1, 1}).ok());
}

/// The shape that ran may be smaller than the sample's: nothing beyond it is read.
TEST(Compare, AnotherDtypeOrShapeIsADifference) {
  std::vector<float> one(1, 1), many(1 << 20, 1);
  const Difference d = compare({one.data(), DType::kFloat32, {1}},
                               {many.data(), DType::kFloat32, {1 << 20}}, {INFINITY, INFINITY});
  EXPECT_FALSE(d.ok());
  EXPECT_FALSE(d.same_type);
  EXPECT_TRUE(std::isinf(d.max_abs_error));
  EXPECT_EQ(d.at, -1);
  float x[4] = {};
  const auto differ = [&](DType dtype, const Shape& shape) {
    return !compare({x, dtype, shape}, {x, DType::kFloat32, {2, 2}}, {1, 1}).same_type;
  };
  EXPECT_FALSE(differ(DType::kFloat32, {2, 2}));
  EXPECT_TRUE(differ(DType::kInt32, {2, 2}));
  EXPECT_TRUE(differ(DType::kFloat32, {4}));
  EXPECT_TRUE(differ(DType::kFloat32, {2, 1}));
}

}  // namespace
}  // namespace lazyrt::run
