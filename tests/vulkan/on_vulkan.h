#pragma once

// Sessions on Vulkan in three modes: as the device is, masked to the limits that every device has,
// and with copies through staging memory. The validation layers see everything and say nothing.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "lazyrt/vulkan.h"
#include "tests/support/loaded_bundle.h"
#include "tests/vulkan/validation_log.h"

namespace lazyrt::test {

enum class Mode { kAsItIs, kFloor, kStaging };

inline VulkanOptions options_of(Mode mode) {
  VulkanOptions options;
  options.mask_to_floor = mode == Mode::kFloor;
  options.force_staging = mode == Mode::kStaging;
  return options;
}
inline std::string mode_name(Mode mode) {
  return mode == Mode::kAsItIs ? "as_it_is" : mode == Mode::kFloor ? "floor" : "staging";
}
constexpr Mode kModes[] = {Mode::kAsItIs, Mode::kFloor, Mode::kStaging};

/// One backend for each mode, since pipelines are what takes time. Gone before the program ends.
class Backends : public testing::Environment {
 public:
  static Backends& get() {
    static auto* backends = static_cast<Backends*>(testing::AddGlobalTestEnvironment(new Backends));
    return *backends;
  }
  const Result<VulkanBackend>& of(Mode mode) {
    std::optional<Result<VulkanBackend>>& made = made_[static_cast<int>(mode)];
    if (!made) made.emplace(VulkanBackend::create(options_of(mode)));
    return *made;
  }
  bool is_validated() const { return is_validated_; }
  void SetUp() override { is_validated_ = begin_validation(); }
  void TearDown() override {
    for (auto& made : made_) made.reset();
    EXPECT_EQ(new_validation_messages(), "");
  }

 private:
  bool is_validated_ = false;
  std::optional<Result<VulkanBackend>> made_[3];
};
inline Backends& kBackends = Backends::get();

template <class Param>
class OnVulkan : public testing::TestWithParam<Param> {
 protected:
  void open(Mode mode) {
    const Result<VulkanBackend>& made = kBackends.of(mode);
    if (!made.ok() && made.status().error() == Error::kUnsupported)
      GTEST_SKIP() << made.status().message();
    ASSERT_TRUE(made.ok()) << made.status().message();
    options_.backend = made->backend();
  }
  void TearDown() override { EXPECT_EQ(new_validation_messages(), ""); }

  SessionOptions options_;
};

}  // namespace lazyrt::test
