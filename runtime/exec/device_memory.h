#pragma once

#include "runtime/core/counted_memory.h"
#include "runtime/exec/services.h"

namespace lazyrt {

/// What a session has in one space. Addresses are the space's own.
struct SpaceMemory {
  uint8_t* arena = nullptr;
  uint8_t* states = nullptr;
  uint8_t* workspace = nullptr;
  uint8_t* host_arena = nullptr;       ///< of a device: where the host has the arena, if it has
  const uint8_t* constants = nullptr;  ///< the Program's; of the host only
};

/// How much of it.
struct SpaceBytes {
  uint64_t arena = 0;
  uint64_t workspace = 0;
};

/// Copies to the host, and waits for it. What goes wrong is told, and nothing is left for the next
/// wait to tell.
Fault copy_out_now(const BackendServices::Slot& slot, void* to, const void* from, size_t bytes);

/// Memory in the space of a device, given back with this, and counted meanwhile.
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

/// The memory of a session in the space of a device: an arena with the places of the host's, and a
/// workspace.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  /// In `kept`, if that is large enough, or in a block of its own, counted in `counted`. REQUIRES:
  /// called once; all arguments outlive this.
  Fault make(const BackendServices::Slot& slot, const SpaceBytes& bytes, const DeviceBlock& kept,
             CountedMemory* counted);
  /// It needed more than was kept.
  bool owns() const { return own_.data() != nullptr; }
  /// Its own block is kept for whatever comes after this. REQUIRES: nothing uses `kept`.
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
