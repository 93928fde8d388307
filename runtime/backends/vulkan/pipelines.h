#pragma once

#include "lazyrt/span.h"
#include "runtime/backends/vulkan/cache.h"
#include "runtime/backends/vulkan/device.h"
#include "runtime/backends/vulkan/list.h"
#include "runtime/backends/vulkan/shader.h"

namespace lazyrt {

/// The floor of Vulkan.
constexpr size_t kMostOperands = 4, kPushBytes = 128;
/// Specialisation constants 0, 1, ... of a shader.
constexpr size_t kMostConstants = 12;

/// The pipelines of a device, each made when it is first needed and kept. All have one layout: four
/// storage buffers, 128 bytes of push constants. Safe to use from any thread.
class VulkanPipelines {
 public:
  VulkanPipelines(const VulkanDevice& device, VulkanCache* cache, const Allocator& allocator)
      : device_(device), kept_(*cache), allocator_(allocator), pipelines_(allocator) {}
  VulkanPipelines(const VulkanPipelines&) = delete;
  VulkanPipelines& operator=(const VulkanPipelines&) = delete;
  ~VulkanPipelines();

  /// Makes the cache with the data that was kept. REQUIRES: called once, before the other
  /// functions.
  Fault open();
  /// Writes the driver's pipeline data to the cache, unless it came from there.
  Status save();
  /// REQUIRES: at most kMostConstants constants.
  Fault find_or_make(const Shader& shader, Span<const uint32_t> constants, VkPipeline* pipeline);
  VkPipelineLayout layout() const { return layout_; }
  VkDescriptorSetLayout set_layout() const { return set_layout_; }
  /// How many were made.
  size_t count();

 private:
  struct Made {
    const Shader* shader;
    uint32_t constant_count;
    uint32_t constants[kMostConstants];
    VkPipeline pipeline;
  };
  Fault make(Made* made) const;
  Fault make_layouts();
  Fault make_cache();
  Status write(uint8_t* data, size_t bytes);

  const VulkanDevice& device_;
  VulkanCache& kept_;
  const Allocator allocator_;
  VkDescriptorSetLayout set_layout_ = VK_NULL_HANDLE;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  VkPipelineCache cache_ = VK_NULL_HANDLE;
  uint64_t kept_checksum_ = 0;  ///< of the cache's data as it was last read or written
  Mutex mutex_;
  List<Made> pipelines_;
};

}  // namespace lazyrt
