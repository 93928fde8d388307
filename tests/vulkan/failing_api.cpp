#include "tests/vulkan/failing_api.h"

#include <cstring>
#include <type_traits>

namespace lazyrt::test {
namespace {

VulkanApi g_real;
VulkanFailures g_failures;
std::vector<const char*> g_calls;
const char* g_failed = "";

bool fails(const char* function) {
  const uint64_t call = g_calls.size();
  g_calls.push_back(function);
  if (call != g_failures.first && !(g_failures.all_after && call > g_failures.first)) return false;
  if (*g_failed == '\0') g_failed = function;
  return true;
}

template <auto member, const char* name, class Returned, class... Args>
VKAPI_ATTR Returned VKAPI_CALL call(Args... args) {
  if (!fails(name)) return (g_real.*member)(args...);
  if (std::strstr(name, "Wait") != nullptr) (g_real.*member)(args...);
  return g_failures.result;
}

/// The function itself, or for one that returns a VkResult what may fail instead.
template <auto member, const char* name, class Returned, class... Args>
PFN_vkVoidFunction wrapper(Returned (VKAPI_PTR* VulkanApi::*)(Args...)) {
  if constexpr (std::is_same_v<Returned, VkResult>) {
    return reinterpret_cast<PFN_vkVoidFunction>(&call<member, name, Returned, Args...>);
  } else {
    return reinterpret_cast<PFN_vkVoidFunction>(g_real.*member);
  }
}

// clang-format off
#define LAZYRT_VK_GLOBAL(name) constexpr char k##name[] = #name;
#define LAZYRT_VK_INSTANCE LAZYRT_VK_GLOBAL
#define LAZYRT_VK_DEVICE LAZYRT_VK_GLOBAL
#include "runtime/backends/vulkan/vk_functions.inc"
#undef LAZYRT_VK_GLOBAL
#undef LAZYRT_VK_INSTANCE
#undef LAZYRT_VK_DEVICE
// clang-format on

PFN_vkVoidFunction wrapped(const char* name) {
#define LAZYRT_VK_GLOBAL(n) \
  if (!std::strcmp(name, "vk" #n)) return wrapper<&VulkanApi::n, k##n>(&VulkanApi::n);
#define LAZYRT_VK_INSTANCE LAZYRT_VK_GLOBAL
#define LAZYRT_VK_DEVICE LAZYRT_VK_GLOBAL
#include "runtime/backends/vulkan/vk_functions.inc"
#undef LAZYRT_VK_GLOBAL
#undef LAZYRT_VK_INSTANCE
#undef LAZYRT_VK_DEVICE
  return nullptr;
}

PFN_vkVoidFunction VKAPI_CALL device_function(VkDevice device, const char* name) {
  return load_device_functions(&g_real, device).ok() ? wrapped(name) : nullptr;
}

PFN_vkVoidFunction VKAPI_CALL instance_function(VkInstance instance, const char* name) {
  if (g_real.library == nullptr && !load_global_functions(&g_real).ok()) return nullptr;
  if (instance != nullptr && !load_instance_functions(&g_real, instance).ok()) return nullptr;
  if (!std::strcmp(name, "vkGetDeviceProcAddr"))
    return reinterpret_cast<PFN_vkVoidFunction>(device_function);
  return wrapped(name);
}

}  // namespace

VulkanFunctionFinder failing_vulkan() { return instance_function; }
void fail_vulkan(const VulkanFailures& failures) {
  g_failures = failures;
  g_calls.clear();
  g_failed = "";
}
const std::vector<const char*>& vulkan_calls() { return g_calls; }
const char* failed_vulkan_function() { return g_failed; }

}  // namespace lazyrt::test
