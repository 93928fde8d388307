#pragma once

// Sessions on Vulkan in three modes: with the device's own limits, with the minimum limits of
// Vulkan 1.1, and with all copies through staging memory. A message of the validation layers fails
// the test, and so does a machine without a device: build with LAZYRT_VULKAN=OFF there.

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

/// One backend for each mode, since making pipelines takes most of the time. They are destroyed
/// before the program ends.
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
  void SetUp() override {
    ASSERT_TRUE(begin_validation()) << "no validation layers: install vulkan-validationlayers";
  }
  void TearDown() override {
    for (auto& made : made_) made.reset();
    EXPECT_EQ(new_validation_messages(), "");
  }

 private:
  std::optional<Result<VulkanBackend>> made_[3];
};
inline Backends& kBackends = Backends::get();

template <class Param>
class OnVulkan : public testing::TestWithParam<Param> {
 protected:
  void open(Mode mode) {
    const Result<VulkanBackend>& made = kBackends.of(mode);
    ASSERT_TRUE(made.ok()) << made.status().message() << " (Debian: mesa-vulkan-drivers)";
    options_.backend = made->backend();
  }
  void TearDown() override { EXPECT_EQ(new_validation_messages(), ""); }

  SessionOptions options_;
};

}  // namespace lazyrt::test
