#pragma once

// A backend as a third party writes it, from runtime/backend alone: a device whose memory nobody
// else can touch, and whose work is done by a thread of its own.

#include <atomic>
#include <functional>
#include <vector>

#include "runtime/backend/backend.h"

namespace lazyrt::test {

/// What the device does in this test. Not to be changed while sessions are made or run.
struct FarRules {
  /// Asked node by node in their order; all true: every node that has a reference kernel.
  std::function<bool(const OpEntry&, const NodeSpec&)> takes;
  std::function<bool(const SegmentSpec&)> compiles;
  /// On the queue's thread, before each segment.
  std::function<void()> before_segment;
};
FarRules& far_rules();

/// Since the last reset.
struct FarCounts {
  std::atomic<int> uploads{0}, copies_in{0}, copies_out{0}, copies{0}, segments{0}, nodes{0};
  std::atomic<int> blocks{0};  ///< of its memory, alive
  void reset() { uploads = copies_in = copies_out = copies = segments = nodes = 0; }
};
FarCounts& far_counts();

/// Whether any byte of the device's memory can be read now. REQUIRES: nothing runs.
bool far_memory_is_open();

/// Memory of the device as a caller has it, alive as long as this.
class FarBlock {
 public:
  explicit FarBlock(size_t bytes);
  ~FarBlock();
  FarBlock(const FarBlock&) = delete;
  FarBlock& operator=(const FarBlock&) = delete;

  void* address() const { return address_; }
  /// REQUIRES: nothing runs.
  std::vector<uint8_t> read(size_t bytes) const;

 private:
  void* address_ = nullptr;
};

/// "far", with this fallback.
Backend far_backend(const Backend* fallback);

}  // namespace lazyrt::test
