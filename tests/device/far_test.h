#pragma once

// Tests on the far device.

#include <gtest/gtest.h>

#include <random>

#include "tests/device/far_device.h"
#include "tests/support/loaded_bundle.h"

namespace lazyrt::test {

class Far : public testing::Test {
 protected:
  void SetUp() override {
    far_rules() = {};
    far_counts().reset();
  }
  /// Programs of the test are gone.
  ~Far() override {
    far_rules() = {};
    EXPECT_EQ(far_counts().blocks, 0) << "memory of the device is left";
  }

  /// The device takes every second node, drawn; of seed 0 all.
  static void take_half(uint32_t seed, std::mt19937* random) {
    far_rules().takes = [seed, random](const OpEntry&, const NodeSpec&) {
      return seed == 0 || (*random)() % 2 == 0;
    };
  }

  SessionOptions on(const Backend& backend, bool profile = false) {
    SessionOptions options;
    options.backend = &backend;
    options.profile = profile;
    return options;
  }

  const FarBackend far_cpu_ = far_backend(cpu_backend());
  const FarBackend far_reference_ = far_backend(reference_backend());
};

inline std::vector<uint8_t> bytes_of(const TensorView& view) {
  const auto* data = static_cast<const uint8_t*>(view.data);
  return {data, data + view.bytes()};
}

}  // namespace lazyrt::test
