#pragma once

// Tests on the far device.

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

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

/// What a session says of its steps.
struct Lines {
  int nodes_far = 0, nodes_here = 0, copies = 0;
  uint64_t copied_bytes = 0;
  std::map<std::string, int> copies_of;  ///< by direction and value

  explicit Lines(const Session& session) {
    for (size_t i = 0; i < session.node_count(); ++i) {
      const NodeInfo info = *session.node(i);
      copies += info.is_copy ? 1 : 0;
      copied_bytes += info.copied_bytes;
      if (!info.is_copy) ++(info.backend == std::string("far") ? nodes_far : nodes_here);
      if (info.is_copy && info.value[0] != '\0')
        ++copies_of[std::string(info.op) + " " + info.value];
    }
  }
};

inline std::vector<uint8_t> bytes_of(const TensorView& view) {
  const auto* data = static_cast<const uint8_t*>(view.data);
  return {data, data + view.bytes()};
}

}  // namespace lazyrt::test
