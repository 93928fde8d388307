// Where the numbers of the vulkan backend differ from the reference's: the table "vulkan" of
// kernels/NUMERICS.md.

#include <cmath>
#include <cstring>
#include <limits>

#include "tests/vulkan/on_vulkan.h"

namespace lazyrt {
namespace {

using test::Mode;
using test::OnVulkan;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class VulkanNumerics : public OnVulkan<Mode> {
 protected:
  struct Operand {
    std::vector<int64_t> shape;
    std::vector<float> data;
  };

  void SetUp() override { open(GetParam()); }

  template <class Table>
  std::vector<float> run(const Table& attrs, const std::vector<Operand>& operands) {
    test::BundleParts parts;
    test::MethodBuilder b(&parts);
    std::vector<int> ids;
    for (const Operand& operand : operands)
      ids.push_back(b.input("x" + std::to_string(ids.size()), DType::kFloat32, operand.shape));
    b.output("y", b.infer(default_ops(), attrs, ids));
    const test::Loaded loaded(parts, default_ops());
    Session session = test::make(loaded.method(), options_);
    for (size_t i = 0; i < operands.size(); ++i) {
      const std::vector<float>& data = operands[i].data;
      EXPECT_TRUE(session.set_input(i, data.data(), data.size() * sizeof(float)).ok());
    }
    EXPECT_TRUE(session.run().ok());
    return test::floats(session, 0);
  }
};
INSTANTIATE_TEST_SUITE_P(Modes, VulkanNumerics, testing::Values(Mode::kAsItIs),
                         [](const auto& test) { return test::mode_name(test.param); });

TEST_P(VulkanNumerics, NormsOfHugeValuesAreZero) {
  const std::vector<Operand> x = {{{1, 4}, {1e20F, -2e20F, 3e20F, 1e20F}}};
  const std::vector<float> zeros(4, 0.0F);
  EXPECT_EQ(run(fb::LayerNormT{}, x), zeros);
  EXPECT_EQ(run(fb::RmsNormT{}, x), zeros);
  EXPECT_EQ(run(fb::GroupNormT{}, x), zeros);
}

TEST_P(VulkanNumerics, PaddingCountsAsZerosBesideAnInfiniteWeight) {
  fb::Conv2dT attrs;
  attrs.pad_left = 1;
  const std::vector<float> y =
      run(attrs, {{{1, 1, 3, 1}, {1, 2, 3}}, {{1, 1, 2, 1}, {kInfinity, 1}}});
  ASSERT_EQ(y.size(), 3U);
  EXPECT_TRUE(std::isnan(y[0]));  // the reference leaves the padding out: 1
  EXPECT_EQ(y[1], kInfinity);
  EXPECT_EQ(y[2], kInfinity);
}

TEST_P(VulkanNumerics, SumsAreOfFloat) {
  // In f64 the sum would be 1.
  const std::vector<float> y =
      run(fb::MatMulT{}, {{{1, 3}, {1e30F, 1, -1e30F}}, {{3, 1}, {1, 1, 1}}});
  EXPECT_EQ(y, std::vector<float>{0.0F});
}

TEST_P(VulkanNumerics, SubnormalNumbersMayBeZero) {
  fb::BinaryT attrs;
  attrs.fn = fb::BinaryFn::Add;
  for (const float y : run(attrs, {{{3}, {1e-40F, -1e-40F, 1e-45F}}, {{}, {0}}}))
    EXPECT_LT(std::fabs(y), std::numeric_limits<float>::min());
}

TEST_P(VulkanNumerics, MovedElementsKeepTheirBits) {
  fb::PermuteT attrs;
  attrs.perm = {1, 0};
  const std::vector<float> x = {1e-40F, -0.0F, 1e-45F, -1e-40F};
  const std::vector<float> y = run(attrs, {{{2, 2}, x}});
  ASSERT_EQ(y.size(), 4U);
  for (size_t i = 0; i < 4; ++i) {
    const float moved = x[i % 2 * 2 + i / 2];
    EXPECT_EQ(std::memcmp(&y[i], &moved, sizeof(float)), 0) << i;
  }
}

}  // namespace
}  // namespace lazyrt
