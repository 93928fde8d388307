#pragma once

#include "runtime/backends/vulkan/device.h"

namespace lazyrt {

/// Copies between buffers and waits for the copy. Any thread.
Fault copy_now(VulkanDevice* device, VkBuffer from, const VkBufferCopy& region, VkBuffer to);

}  // namespace lazyrt
