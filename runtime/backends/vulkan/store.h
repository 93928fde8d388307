#pragma once

// Constants as operators pack them, once for a Program.

#include "runtime/backends/vulkan/memory.h"

namespace lazyrt {

/// What a packed block was made from: the packer, the constants, and everything that the layout
/// depends on.
struct PackKey {
  const void* packer = nullptr;  ///< anything static of the operator
  const void* sources[5] = {};
  int64_t numbers[8] = {};
};

class VulkanStore {
 public:
  /// Most bytes that a store keeps: each constant may be packed for several ops, but not again for
  /// each of many. Beyond this, packing is kUnsupported.
  static uint64_t most_bytes(uint64_t constant_bytes);

  VulkanStore(VulkanDevice* device, VulkanMemory* memory, uint64_t constant_bytes,
              const Allocator& allocator)
      : device_(*device),
        memory_(*memory),
        most_bytes_(most_bytes(constant_bytes)),
        allocator_(allocator),
        blocks_(allocator),
        chunks_(allocator) {}
  VulkanStore(const VulkanStore&) = delete;
  VulkanStore& operator=(const VulkanStore&) = delete;
  ~VulkanStore();

  /// Returns the address of the block of this key; if there is none, makes `bytes` by fill(context,
  /// to), which writes all of them. The block lives as long as the Program. Safe to use from any
  /// thread.
  Fault find_or_pack(const PackKey& key, uint64_t bytes,
                     void (*fill)(const void* context, void* to), const void* context,
                     const void** address);
  /// What the blocks take.
  uint64_t held_bytes();
  /// A constant as it is.
  Fault find_or_copy(const void* constant, uint64_t bytes, const void** address);
  /// Writes bytes of the device's memory that nothing uses; they are there when this returns.
  Fault upload(void* to, const void* from, uint64_t bytes);

 private:
  struct Block {
    PackKey key;
    const void* address;
  };
  const void* find(const PackKey& key) const;
  Fault place(uint64_t bytes, void** address);
  Fault add(const PackKey& key, uint64_t bytes, const void* data, const void** address);
  Fault upload_staged(const VulkanPlace& to, const uint8_t* from, uint64_t bytes);

  VulkanDevice& device_;
  VulkanMemory& memory_;
  const uint64_t most_bytes_;
  const Allocator allocator_;
  Mutex mutex_;
  List<Block> blocks_;
  List<void*> chunks_;
  uint64_t held_bytes_ = 0;
  uint64_t chunk_bytes_ = 0, chunk_used_ = 0;  ///< of the last one
};

}  // namespace lazyrt
