#pragma once

#include <cstdint>
#include <vector>

#include "lazyrt/vulkan.h"
#include "runtime/backends/vulkan/api.h"

namespace lazyrt::test {

/// Which calls fail of those that return a VkResult, counted over all functions from 0.
struct VulkanFailures {
  uint64_t first = UINT64_MAX;  ///< this call fails
  bool all_after = false;       ///< and all that follow
  VkResult result = VK_ERROR_OUT_OF_DEVICE_MEMORY;
};

/// The system's Vulkan, whose calls can be made to fail: vkGetInstanceProcAddr for VulkanOptions. A
/// call that fails has done nothing, but a wait has waited.
VulkanFunctionFinder failing_vulkan();
/// Counts from 0 from now on.
void fail_vulkan(const VulkanFailures& failures);
/// The functions called since, without their prefix vk.
const std::vector<const char*>& vulkan_calls();
/// The function whose call failed first, without its prefix vk; "": none did.
const char* failed_vulkan_function();

}  // namespace lazyrt::test
