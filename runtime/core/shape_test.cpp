#include "lazyrt/shape.h"

#include <gtest/gtest.h>

namespace lazyrt {
namespace {

constexpr int64_t kHalf = int64_t{1} << 62;

bool counts(const Shape& shape, int64_t wanted) {
  int64_t count = -1;
  return shape.checked_numel(&count) && count == wanted;
}
bool has_no_count(const Shape& shape) {
  int64_t count = -1;
  return !shape.checked_numel(&count) && count == -1;
}

TEST(Shape, CountsUpToTheLargestNumber) {
  EXPECT_TRUE(counts({}, 1));
  EXPECT_TRUE(counts({2, 3, 5}, 30));
  EXPECT_TRUE(counts({INT64_MAX}, INT64_MAX));
  EXPECT_TRUE(counts({1, kHalf, 1}, kHalf));
  EXPECT_TRUE(counts({1000003, 999983, 1000033}, 1000003LL * 999983 * 1000033));
  EXPECT_TRUE(counts({kHalf, 0, 1}, 0));
}

TEST(Shape, RefusesWhatIsMoreOrNegative) {
  EXPECT_TRUE(has_no_count({kHalf, 2}));
  EXPECT_TRUE(has_no_count({kHalf, 2, 1, 1}));
  EXPECT_TRUE(has_no_count({kHalf, 4}));
  EXPECT_TRUE(has_no_count({INT64_MAX, INT64_MAX}));
  EXPECT_TRUE(has_no_count({int64_t{1} << 33, int64_t{1} << 33}));
  EXPECT_TRUE(has_no_count({3, -1}));
  EXPECT_TRUE(has_no_count({INT64_MIN}));
}

/// A run over nothing still turns the loops around it.
TEST(Shape, AnEmptyShapeHidesNoOverflow) {
  EXPECT_TRUE(has_no_count({kHalf, 2, 0}));
  EXPECT_TRUE(has_no_count({0, kHalf, 2}));
}

TEST(Shape, ProductsOfAllBits) {
  uint64_t product = 0;
  EXPECT_FALSE(product_overflows(uint64_t{UINT32_MAX}, UINT64_C(1) << 32, &product));
  EXPECT_EQ(product, uint64_t{UINT32_MAX} << 32);
  EXPECT_FALSE(product_overflows(UINT64_MAX, UINT64_C(1), &product));
  EXPECT_EQ(product, UINT64_MAX);
  EXPECT_TRUE(product_overflows(UINT64_C(1) << 32, UINT64_C(1) << 32, &product));
  EXPECT_TRUE(product_overflows(UINT64_MAX, UINT64_C(2), &product));
  EXPECT_TRUE(product_overflows((UINT64_C(1) << 32) + 1, UINT32_MAX + UINT64_C(2), &product));
}

}  // namespace
}  // namespace lazyrt
