#include "runtime/backends/vulkan/physical.h"

#include <algorithm>

namespace lazyrt {
namespace {

constexpr uint32_t kMostFamilies = 16;

VulkanLimits limits_of(const VkPhysicalDeviceProperties& properties, uint64_t allocation_bytes) {
  const VkPhysicalDeviceLimits& have = properties.limits;
  VulkanLimits limits;
  limits.storage_range = have.maxStorageBufferRange;
  limits.allocation_bytes = allocation_bytes;
  limits.offset_alignment =
      std::max<uint32_t>(static_cast<uint32_t>(have.minStorageBufferOffsetAlignment), 4);
  limits.groups = std::min({have.maxComputeWorkGroupCount[0], have.maxComputeWorkGroupCount[1],
                            have.maxComputeWorkGroupCount[2]});
  limits.group_size =
      std::min(have.maxComputeWorkGroupInvocations, have.maxComputeWorkGroupSize[0]);
  limits.shared_bytes = have.maxComputeSharedMemorySize;
  const bool is_cpu = properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  limits.busy_groups = is_cpu ? 8 : kVulkanFloor.busy_groups;
  return limits;
}

void find_queue(const VulkanApi& api, int wanted, VulkanPhysical* out) {
  VkQueueFamilyProperties families[kMostFamilies];
  uint32_t count = kMostFamilies;
  api.GetPhysicalDeviceQueueFamilyProperties(out->handle, &count, families);
  for (uint32_t i = 0; i < count; ++i) {
    if ((families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0) continue;
    if (wanted >= 0 && static_cast<uint32_t>(wanted) != i) continue;
    out->family = static_cast<int>(i);
    out->has_clock = families[i].timestampValidBits != 0;
    return;
  }
}

}  // namespace

bool VulkanPhysical::shares_memory() const {
  if (properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU) return false;
  constexpr VkMemoryPropertyFlags kShared = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | kCachedFlags;
  const VkMemoryType* end = memory.memoryTypes + memory.memoryTypeCount;
  return std::any_of(memory.memoryTypes, end, [](const VkMemoryType& type) {
    return (type.propertyFlags & kShared) == kShared;
  });
}

Fault make_instance(VulkanApi* api, VkInstance* instance) {
  uint32_t version = 0;
  LAZYRT_VK_RETURN_IF_ERROR(*api, EnumerateInstanceVersion, &version);
  if (version < VK_API_VERSION_1_1)
    return Fault(Error::kUnsupported, "Vulkan's loader is older than 1.1");
  VkApplicationInfo application = {VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.pEngineName = "LazyRT";
  application.apiVersion = VK_API_VERSION_1_1;
  VkInstanceCreateInfo info = {VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  info.pApplicationInfo = &application;
  const VkResult result = api->CreateInstance(&info, nullptr, instance);
  if (result == VK_ERROR_INCOMPATIBLE_DRIVER)
    return Fault(Error::kUnsupported, "there is no driver of Vulkan on this system");
  LAZYRT_RETURN_IF_ERROR(vulkan_fault(result, "vkCreateInstance"));
  return load_instance_functions(api, *instance);
}

Fault list_devices(const VulkanApi& api, VkInstance instance, VkPhysicalDevice* devices,
                   uint32_t* count) {
  *count = kMostVulkanDevices;
  const VkResult result = api.EnumeratePhysicalDevices(instance, count, devices);
  return result == VK_INCOMPLETE ? Fault() : vulkan_fault(result, "vkEnumeratePhysicalDevices");
}

VulkanPhysical describe_device(const VulkanApi& api, VkPhysicalDevice device, int family) {
  VulkanPhysical out;
  out.handle = device;
  api.GetPhysicalDeviceProperties(device, &out.properties);
  if (!out.is_new_enough()) return out;
  out.id.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES;
  VkPhysicalDeviceMaintenance3Properties maintenance = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES, &out.id};
  VkPhysicalDeviceProperties2 all = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &maintenance};
  api.GetPhysicalDeviceProperties2(device, &all);
  out.limits = limits_of(out.properties, maintenance.maxMemoryAllocationSize);
  api.GetPhysicalDeviceMemoryProperties(device, &out.memory);
  find_queue(api, family, &out);
  return out;
}

Fault check_floor(const VulkanPhysical& device) {
  const VkPhysicalDeviceProperties& properties = device.properties;
  if (!device.is_new_enough()) {
    return Fault(Error::kUnsupported, "device '%s' has Vulkan %u.%u, 1.1 is needed",
                 properties.deviceName, VK_API_VERSION_MAJOR(properties.apiVersion),
                 VK_API_VERSION_MINOR(properties.apiVersion));
  }
  if (device.family == VulkanPhysical::kNoFamily)
    return Fault(Error::kUnsupported, "device '%s' has no queue that computes",
                 properties.deviceName);
  const VulkanLimits& has = device.limits;
  const struct {
    Word limit;
    uint64_t is, must_be;
  } rows[] = {
      {"maxStorageBufferRange", has.storage_range, kVulkanFloor.storage_range},
      {"maxMemoryAllocationSize", has.allocation_bytes, kVulkanFloor.allocation_bytes},
      {"maxComputeWorkGroupCount", has.groups, kVulkanFloor.groups},
      {"maxComputeWorkGroupInvocations", has.group_size, kVulkanFloor.group_size},
      {"maxComputeSharedMemorySize", has.shared_bytes, kVulkanFloor.shared_bytes},
  };
  for (const auto& row : rows) {
    if (row.is >= row.must_be) continue;
    return Fault(Error::kUnsupported, "device '%s': its %s is %llu, must be at least %llu",
                 properties.deviceName, row.limit, static_cast<unsigned long long>(row.is),
                 static_cast<unsigned long long>(row.must_be));
  }
  return {};
}

}  // namespace lazyrt
