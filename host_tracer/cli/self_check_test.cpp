#include "host_tracer/cli/self_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lazyrt {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

CheckLine compare(const std::vector<float>& ours, const std::vector<float>& eager) {
  return compare_output("y", DType::kFloat32, ours.data(), eager.data(),
                        static_cast<int64_t>(ours.size()));
}

TEST(SelfCheck, ErrorIsRelativeToTheLargestValue) {
  const CheckLine line = compare({1, 100}, {1, 100.005f});
  EXPECT_TRUE(line.ok);
  EXPECT_NEAR(line.relative(), 5e-5, 1e-6);
  EXPECT_FALSE(compare({1, 100}, {1, 100.02f}).ok);
}

TEST(SelfCheck, NanAndInfinityMatchTheirLikes) {
  EXPECT_TRUE(compare({kNan, kInf, -kInf, 1}, {kNan, kInf, -kInf, 1}).ok);
  EXPECT_FALSE(compare({kNan, 1}, {1, 1}).ok);
  EXPECT_FALSE(compare({1, 1}, {kNan, 1}).ok);
  EXPECT_FALSE(compare({kInf, 1}, {-kInf, 1}).ok);
  EXPECT_FALSE(compare({kInf, 1}, {1, 1}).ok);
}

TEST(SelfCheck, ZeroOutputsAreComparedAbsolutely) {
  EXPECT_TRUE(compare({0, 0}, {0, 0}).ok);
  EXPECT_FALSE(compare({1, 0}, {0, 0}).ok);
  EXPECT_TRUE(compare({}, {}).ok);
}

}  // namespace
}  // namespace lazyrt
