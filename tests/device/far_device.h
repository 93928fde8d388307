#pragma once

// A backend as a third party writes it, from runtime/backend alone: a device whose memory nobody
// else can touch, whose addresses are no pointers, and whose one queue works for all sessions.

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/backend/backend.h"

namespace lazyrt::test {

/// What a machine does in this test. Not to be changed while sessions are made or run.
struct FarRules {
  std::function<bool()> opens;
  /// Asked node by node in their order; all true: every node that has a reference kernel.
  std::function<bool(const OpEntry&, const NodeSpec&)> takes;
  std::function<bool(const SegmentSpec&)> compiles;
  /// Asked for each node of a segment that compiles.
  std::function<bool(const SegmentNode&)> refuses;
  /// Whether a segment can be bound; if not, nothing of it can be run.
  std::function<bool()> binds;
  /// Whether there is memory for these bytes.
  std::function<bool(uint64_t)> allocates;
  /// The host has its memory, too.
  bool is_mapped = false;
  /// On the queue's thread, before each segment.
  std::function<void()> before_segment;
  /// As GPUs do: behind an error all goes on but copies within its memory.
  bool goes_on = false;
  /// What each node takes by the device's clock; empty: it has none. Not asked again once there is
  /// a backend.
  std::function<uint64_t(const OpEntry&)> takes_time;
  /// Results that leave their segment, by number, as told.
  std::function<void(const SegmentSpec&)> compiled;
};

/// Since the last reset.
struct FarCounts {
  std::atomic<int> copies_in{0}, copies_out{0}, copies{0}, segments{0}, nodes{0};
  std::atomic<int> constants{0};  ///< that Programs keep in its memory
  std::atomic<int> blocks{0};     ///< of its memory, alive
  std::atomic<int> allocations{0};
  std::atomic<int> opened{0};        ///< sessions, or tried to
  std::atomic<int> compilations{0};  ///< tried
  std::atomic<int> submissions{0};
  std::atomic<int> waits{0};  ///< for something
  void reset() {
    copies_in = copies_out = copies = segments = nodes = constants = allocations = opened =
        compilations = submissions = waits = 0;
  }
};

class FarMemory;
class FarQueue;

/// A device, as an application may own it: it outlives Programs and is shared by them.
class FarMachine {
 public:
  FarMachine();
  ~FarMachine();
  FarMachine(const FarMachine&) = delete;
  FarMachine& operator=(const FarMachine&) = delete;

  FarRules rules;
  FarCounts counts;
  const std::unique_ptr<FarMemory> memory;
  const std::unique_ptr<FarQueue> queue;
};

/// That of backends for which a test names none.
FarMachine& far_machine();
inline FarRules& far_rules() { return far_machine().rules; }
inline FarCounts& far_counts() { return far_machine().counts; }

/// "far": finds its machine by BackendOptions::backend.
struct FarBackend : Backend {
  FarMachine* machine = nullptr;
};
FarBackend far_backend(const Backend* fallback, FarMachine* machine = &far_machine());

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

}  // namespace lazyrt::test
