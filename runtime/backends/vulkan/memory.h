#pragma once

#include "runtime/backends/vulkan/device.h"
#include "runtime/backends/vulkan/list.h"

namespace lazyrt {

/// Where an address of the device is.
struct VulkanPlace {
  VkBuffer buffer = VK_NULL_HANDLE;
  uint64_t offset = 0;
  uint8_t* mapped = nullptr;  ///< the host's address of the byte, if it has one, else nullptr
};

/// Blocks of the device's memory under addresses of our own: each block is a buffer, and an offset
/// from its address is an offset in the buffer. Safe to use from any thread.
class VulkanMemory {
 public:
  VulkanMemory(const VulkanDevice& device, const Allocator& allocator)
      : device_(device), blocks_(allocator) {}
  VulkanMemory(const VulkanMemory&) = delete;
  VulkanMemory& operator=(const VulkanMemory&) = delete;
  ~VulkanMemory();

  Fault allocate(uint64_t bytes, void** address) { return allocate(bytes, false, address); }
  /// Memory that the host always has, too.
  Fault allocate_host(uint64_t bytes, void** address) { return allocate(bytes, true, address); }
  void release(const void* address);
  /// Changes whenever a block is released: places recorded before may then be stale.
  uint64_t generation();
  /// kInvalidArgument: these bytes are not within one block.
  Fault find(const void* address, uint64_t bytes, VulkanPlace* place);

 private:
  struct Block {
    uintptr_t begin;
    VulkanBuffer buffer;
  };
  Fault allocate(uint64_t bytes, bool host, void** address);
  /// Index of the first block that ends behind `address`.
  size_t find_block(uintptr_t address) const;

  const VulkanDevice& device_;
  Mutex mutex_;
  List<Block> blocks_;  ///< by address
  uint64_t generation_ = 0;
};

}  // namespace lazyrt
