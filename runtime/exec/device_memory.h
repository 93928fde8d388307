#pragma once

#include "runtime/core/counted_memory.h"
#include "runtime/exec/services.h"

namespace lazyrt {

/// A session's memory in one space. Addresses belong to the space.
struct SpaceMemory {
  uint8_t* arena = nullptr;
  uint8_t* states = nullptr;
  uint8_t* workspace = nullptr;
  /// For a device: the host's address of the arena, if the host has it.
  uint8_t* host_arena = nullptr;
  const uint8_t* constants = nullptr;  ///< the Program's; of the host only
};

/// How much of it.
struct SpaceBytes {
  uint64_t arena = 0;
  uint64_t workspace = 0;
};

/// Copies to the host and waits. Returns an error of the copy, and leaves none for the next wait to
/// return.
Fault copy_out_now(const BackendServices::Slot& slot, void* to, const void* from, size_t bytes);

/// Memory in a device's space, released and no longer counted when this is destroyed.
class DeviceBlock {
 public:
  DeviceBlock() = default;
  DeviceBlock(const DeviceBlock&) = delete;
  DeviceBlock& operator=(const DeviceBlock&) = delete;
  ~DeviceBlock() { release(); }

  /// kOutOfMemory names the space. REQUIRES: called once; both outlive this.
  Fault make(const BackendServices::Slot& slot, uint64_t bytes, CountedMemory* counted);
  /// nullptr: it was not made.
  uint8_t* data() const { return static_cast<uint8_t*>(block_.address); }
  /// Where the host has it; nullptr: nowhere.
  uint8_t* host() const { return static_cast<uint8_t*>(block_.host); }
  uint64_t bytes() const { return bytes_; }
  /// Becomes what `other` is, and that nothing.
  void take(DeviceBlock* other);

 private:
  void release();

  const Device* device_ = nullptr;
  void* program_ = nullptr;
  CountedMemory* counted_ = nullptr;
  SpaceBlock block_;
  uint64_t bytes_ = 0;
};

/// A session's memory in a device's space: an arena with the same places as the host's, and a
/// workspace.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  /// Uses `kept` if that is large enough, else a block of its own, counted in `counted`. REQUIRES:
  /// called once; all arguments outlive this.
  Fault make(const BackendServices::Slot& slot, const SpaceBytes& bytes, const DeviceBlock& kept,
             CountedMemory* counted);
  /// It needed more than was kept.
  bool owns() const { return own_.data() != nullptr; }
  /// Keeps its own block for what is made after this. REQUIRES: nothing uses `kept`.
  void give_block(DeviceBlock* kept) {
    if (owns()) kept->take(&own_);
  }

  /// But for the states.
  const SpaceMemory& memory() const { return memory_; }
  /// 0: it was not made.
  uint64_t bytes() const { return bytes_; }

 private:
  DeviceBlock own_;
  uint64_t bytes_ = 0;
  SpaceMemory memory_;
};

}  // namespace lazyrt
