#include <cstdio>
#include <cstring>

#include "lazyrt/vulkan.h"
#include "runtime/backends/vulkan/physical.h"
#include "runtime/core/allocator.h"

namespace lazyrt {
namespace {

/// The loader and an instance, for as long as this lives.
struct Loader {
  Loader() = default;
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;
  ~Loader() {
    if (instance != VK_NULL_HANDLE && api.DestroyInstance != nullptr)
      api.DestroyInstance(instance, nullptr);
    close_loader(&api);
  }
  Fault open() {
    LAZYRT_RETURN_IF_ERROR(load_global_functions(&api));
    return make_instance(&api, &instance);
  }

  VulkanApi api;
  VkInstance instance = VK_NULL_HANDLE;
};

const char* type_of(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return "discrete";
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return "integrated";
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return "virtual";
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return "cpu";
    default:
      return "other";
  }
}

bool has_extension(const VulkanApi& api, VkPhysicalDevice device, const char* name) {
  uint32_t count = 0;
  if (api.EnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr) != VK_SUCCESS)
    return false;
  const Allocator allocator = platform_allocator();
  auto* all = static_cast<VkExtensionProperties*>(allocator.allocate(
      allocator.context, count * sizeof(VkExtensionProperties), alignof(VkExtensionProperties)));
  if (all == nullptr) return false;
  bool found = false;
  if (api.EnumerateDeviceExtensionProperties(device, nullptr, &count, all) == VK_SUCCESS) {
    for (uint32_t i = 0; i < count; ++i)
      found = found || std::strcmp(all[i].extensionName, name) == 0;
  }
  allocator.release(allocator.context, all);
  return found;
}

void describe_driver(const VulkanApi& api, const VulkanPhysical& device, VulkanDeviceInfo* info) {
  if (!device.is_new_enough() ||
      !has_extension(api, device.handle, VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME))
    return;
  VkPhysicalDeviceDriverProperties driver = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
  VkPhysicalDeviceProperties2 all = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &driver};
  api.GetPhysicalDeviceProperties2(device.handle, &all);
  std::snprintf(info->driver, sizeof(info->driver), "%s %s", driver.driverName, driver.driverInfo);
}

uint64_t own_memory(const VkPhysicalDeviceMemoryProperties& memory) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < memory.memoryHeapCount; ++i) {
    if ((memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0)
      bytes += memory.memoryHeaps[i].size;
  }
  return bytes;
}

VulkanDeviceInfo info_of(const VulkanApi& api, const VulkanPhysical& device) {
  VulkanDeviceInfo info;
  const VkPhysicalDeviceProperties& properties = device.properties;
  std::snprintf(info.name, sizeof(info.name), "%s", properties.deviceName);
  info.type = type_of(properties.deviceType);
  describe_driver(api, device, &info);
  std::snprintf(info.api_version, sizeof(info.api_version), "%u.%u.%u",
                VK_API_VERSION_MAJOR(properties.apiVersion),
                VK_API_VERSION_MINOR(properties.apiVersion),
                VK_API_VERSION_PATCH(properties.apiVersion));
  info.memory_bytes = own_memory(device.memory);
  info.shares_memory = device.shares_memory();
  info.has_clock = device.has_clock;
  info.operand_bytes = device.limits.storage_range;
  info.block_bytes = device.limits.allocation_bytes;
  info.group_size = device.limits.group_size;
  info.shared_bytes = device.limits.shared_bytes;
  info.status = check_floor(device);
  return info;
}

}  // namespace

Result<VulkanDeviceInfo> describe_vulkan_device(int number) {
  Loader loader;
  Status status = loader.open();
  if (!status.ok()) return status;
  VkPhysicalDevice devices[kMostVulkanDevices];
  uint32_t count = 0;
  status = list_devices(loader.api, loader.instance, devices, &count);
  if (!status.ok()) return status;
  if (number < 0 || number >= static_cast<int>(count))
    return Status(Error::kNotFound, "there is no device %d of Vulkan: there are %u", number, count);
  return info_of(loader.api, describe_device(loader.api, devices[number]));
}

}  // namespace lazyrt
