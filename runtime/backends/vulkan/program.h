#pragma once

// What all sessions of a Program share on a device.

#include "runtime/backends/vulkan/memory.h"
#include "runtime/backends/vulkan/pipelines.h"
#include "runtime/backends/vulkan/store.h"
#include "runtime/op/op_def.h"

namespace lazyrt {

class VulkanProgram {
 public:
  VulkanProgram(VulkanDevice* device, VulkanPipelines* pipelines, uint64_t constant_bytes,
                const Allocator& allocator)
      : allocator_(allocator),
        device_(*device),
        pipelines_(*pipelines),
        memory_(*device, allocator),
        store_(device, &memory_, constant_bytes, allocator) {}

  const Allocator& allocator() const { return allocator_; }
  VulkanDevice& device() { return device_; }
  VulkanPipelines& pipelines() { return pipelines_; }
  VulkanMemory& memory() { return memory_; }
  VulkanStore& store() { return store_; }

 private:
  const Allocator allocator_;
  VulkanDevice& device_;
  VulkanPipelines& pipelines_;
  VulkanMemory memory_;
  VulkanStore store_;
};

/// What `prepare` of a kernel for Vulkan works with.
struct VulkanPreparation {
  VulkanProgram& program;
  /// Bit i: input i is a constant that prepare has packed; it is not copied to the device unpacked,
  /// and `run` gets no data for it.
  uint32_t packed_inputs = 0;
};
inline VulkanPreparation& preparation_of(const PrepareContext& context) {
  return *static_cast<VulkanPreparation*>(context.backend);
}
inline const VulkanLimits& limits_of(const PrepareContext& context) {
  return preparation_of(context).program.device().limits();
}

}  // namespace lazyrt
