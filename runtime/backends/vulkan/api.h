#pragma once

// Vulkan's functions, found at run time: a program with this backend also runs on systems without
// Vulkan.

#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#include <vulkan/vulkan_core.h>

#include "runtime/core/fault.h"

namespace lazyrt {

/// A table of the functions, without their prefix vk.
struct VulkanApi {
  void* library = nullptr;
  PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr;
#define LAZYRT_VK_GLOBAL(name) PFN_vk##name name = nullptr;
#define LAZYRT_VK_INSTANCE LAZYRT_VK_GLOBAL
#define LAZYRT_VK_DEVICE LAZYRT_VK_GLOBAL
#include "runtime/backends/vulkan/vk_functions.inc"
#undef LAZYRT_VK_GLOBAL
#undef LAZYRT_VK_INSTANCE
#undef LAZYRT_VK_DEVICE
};

/// Finds the global functions of a loader: of the given vkGetInstanceProcAddr, else of the system's
/// loader. kUnsupported: there is none.
Fault load_global_functions(VulkanApi* api, PFN_vkGetInstanceProcAddr given = nullptr);
Fault load_instance_functions(VulkanApi* api, VkInstance instance);
Fault load_device_functions(VulkanApi* api, VkDevice device);
void close_loader(VulkanApi* api);

/// Returns ok or the function's error: kOutOfMemory, or kInternal with the number of the result.
Fault vulkan_fault(VkResult result, Word function);

#define LAZYRT_VK_RETURN_IF_ERROR(api, name, ...) \
  LAZYRT_RETURN_IF_ERROR(::lazyrt::vulkan_fault((api).name(__VA_ARGS__), "vk" #name))

}  // namespace lazyrt
