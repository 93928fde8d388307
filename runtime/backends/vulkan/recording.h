#pragma once

#include "runtime/backends/vulkan/recorder.h"

namespace lazyrt {

/// The commands of a Recorder between two marks in a command buffer, and the objects they use.
struct Recording {
  VkCommandBuffer buffer = VK_NULL_HANDLE;
  VkDescriptorPool sets = VK_NULL_HANDLE;
  VkQueryPool times = VK_NULL_HANDLE;
  uint32_t set_room = 0, time_room = 0;

  /// Records the commands between two marks again; `timed`: with the time at the end of each node.
  /// REQUIRES: none of them is queued or runs.
  Fault record(const VulkanDevice& device, VkCommandPool pool, const Recorder& recorder,
               const Recorder::Mark& from, const Recorder::Mark& to, bool timed);
  /// REQUIRES: as above.
  void release(const VulkanDevice& device, VkCommandPool pool);

 private:
  Fault make_sets(const VulkanDevice& device, size_t count);
  Fault make_times(const VulkanDevice& device, size_t count);
};

}  // namespace lazyrt
