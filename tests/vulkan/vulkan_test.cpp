// Sessions on Vulkan.

#include <gtest/gtest.h>

#include "lazyrt/vulkan.h"
#include "tests/support/loaded_bundle.h"
#include "tests/support/tiny_bundle.h"

namespace lazyrt {
namespace {

class Vulkan : public testing::TestWithParam<VulkanOptions> {
 protected:
  void SetUp() override {
    Result<VulkanBackend> made = VulkanBackend::create(GetParam());
    if (!made.ok() && made.status().error() == Error::kUnsupported)
      GTEST_SKIP() << made.status().message();
    ASSERT_TRUE(made.ok()) << made.status().message();
    backend_.emplace(std::move(*made));
  }
  SessionOptions on_it() const {
    SessionOptions options;
    options.backend = backend_->backend();
    return options;
  }

  std::optional<VulkanBackend> backend_;
};

VulkanOptions mode(bool floor, bool staging) {
  VulkanOptions options;
  options.mask_to_floor = floor;
  options.force_staging = staging;
  return options;
}
INSTANTIATE_TEST_SUITE_P(Modes, Vulkan,
                         testing::Values(mode(false, false), mode(true, false), mode(false, true)));

TEST_P(Vulkan, RunsAChainOfNodes) {
  test::BundleParts parts;
  test::MethodBuilder b(&parts);
  const int x = b.input("x", DType::kFloat32, {3, 7});
  const int y = b.infer(default_ops(), test::relu(), {x});
  b.output("y", y);
  b.output("z", b.infer(default_ops(), test::relu(), {y}));
  const test::Loaded loaded(parts, default_ops());
  Result<Session> session = Session::create(loaded.method(), on_it());
  ASSERT_TRUE(session.ok()) << session.status().message();
  for (int round = 0; round < 3; ++round) {
    std::vector<float> in(21), expected(21);
    for (int i = 0; i < 21; ++i) in[i] = static_cast<float>(i * (round + 1)) - 10.0F;
    for (int i = 0; i < 21; ++i) expected[i] = std::max(in[i], 0.0F);
    ASSERT_TRUE(session->set_input(0, in.data(), in.size() * 4).ok());
    const Status status = session->run();
    ASSERT_TRUE(status.ok()) << status.message();
    for (size_t i = 0; i < 2; ++i) {
      const auto* data = session->output(i)->as<const float>();
      EXPECT_EQ(std::vector<float>(data, data + 21), expected);
    }
  }
  EXPECT_STREQ(session->node(1)->backend, "vulkan");
}

}  // namespace
}  // namespace lazyrt
