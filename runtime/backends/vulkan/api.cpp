#include "runtime/backends/vulkan/api.h"

#include "runtime/platform/library.h"

namespace lazyrt {
namespace {

Fault missing(Word name) {
  return Fault(Error::kUnsupported, "Vulkan's loader has no function %s: Vulkan 1.1 is needed",
               name);
}

Fault open_system_loader(VulkanApi* api) {
  constexpr const char* kNames[] = {
#if defined(_WIN32)
    "vulkan-1.dll",
#elif defined(__APPLE__)
    "libvulkan.1.dylib",
    "libMoltenVK.dylib",
#else
    "libvulkan.so.1",
    "libvulkan.so",
#endif
    nullptr
  };
  api->library = platform_open_library(kNames);
  if (api->library == nullptr)
    return Fault(Error::kUnsupported, "there is no Vulkan on this system: no library '%s'",
                 kNames[0]);
  api->get_instance_proc_addr = reinterpret_cast<PFN_vkGetInstanceProcAddr>(
      platform_library_symbol(api->library, "vkGetInstanceProcAddr"));
  return api->get_instance_proc_addr == nullptr ? missing("vkGetInstanceProcAddr") : Fault();
}

}  // namespace

#define LAZYRT_VK_FIND(get, object, name)                              \
  api->name = reinterpret_cast<PFN_vk##name>(get(object, "vk" #name)); \
  if (api->name == nullptr) return missing("vk" #name);
#define LAZYRT_VK_SKIP(name)

Fault load_global_functions(VulkanApi* api, PFN_vkGetInstanceProcAddr given) {
  api->get_instance_proc_addr = given;
  if (given == nullptr) LAZYRT_RETURN_IF_ERROR(open_system_loader(api));
#define LAZYRT_VK_GLOBAL(name) LAZYRT_VK_FIND(api->get_instance_proc_addr, nullptr, name)
#define LAZYRT_VK_INSTANCE LAZYRT_VK_SKIP
#define LAZYRT_VK_DEVICE LAZYRT_VK_SKIP
#include "runtime/backends/vulkan/vk_functions.inc"
#undef LAZYRT_VK_GLOBAL
#undef LAZYRT_VK_INSTANCE
#undef LAZYRT_VK_DEVICE
  return {};
}

Fault load_instance_functions(VulkanApi* api, VkInstance instance) {
#define LAZYRT_VK_GLOBAL LAZYRT_VK_SKIP
#define LAZYRT_VK_INSTANCE(name) LAZYRT_VK_FIND(api->get_instance_proc_addr, instance, name)
#define LAZYRT_VK_DEVICE LAZYRT_VK_SKIP
#include "runtime/backends/vulkan/vk_functions.inc"
#undef LAZYRT_VK_GLOBAL
#undef LAZYRT_VK_INSTANCE
#undef LAZYRT_VK_DEVICE
  return {};
}

Fault load_device_functions(VulkanApi* api, VkDevice device) {
#define LAZYRT_VK_GLOBAL LAZYRT_VK_SKIP
#define LAZYRT_VK_INSTANCE LAZYRT_VK_SKIP
#define LAZYRT_VK_DEVICE(name) LAZYRT_VK_FIND(api->GetDeviceProcAddr, device, name)
#include "runtime/backends/vulkan/vk_functions.inc"
#undef LAZYRT_VK_GLOBAL
#undef LAZYRT_VK_INSTANCE
#undef LAZYRT_VK_DEVICE
  return {};
}

void close_loader(VulkanApi* api) {
  if (api->library != nullptr) platform_close_library(api->library);
  api->library = nullptr;
}

Fault vulkan_fault(VkResult result, Word function) {
  switch (result) {
    case VK_SUCCESS:
      return {};
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    case VK_ERROR_OUT_OF_POOL_MEMORY:
      return Fault(Error::kOutOfMemory, "%s: no memory (result %d)", function,
                   static_cast<int>(result));
    case VK_ERROR_DEVICE_LOST:
      return Fault(Error::kInternal, "%s: the device is lost: create the backend again", function);
    default:
      return Fault(Error::kInternal, "%s: result %d", function, static_cast<int>(result));
  }
}

}  // namespace lazyrt
