#pragma once

// What a driver reports about a device, before anything is made on it.

#include "runtime/backends/vulkan/api.h"

namespace lazyrt {

/// What shaders and sessions must keep to.
struct VulkanLimits {
  uint64_t storage_range = 0;     ///< most bytes of one operand
  uint64_t allocation_bytes = 0;  ///< most of one block
  uint32_t offset_alignment = 1;  ///< alignment of operands in their buffer; a power of two
  uint32_t groups = 0;            ///< most workgroups in each dimension
  uint32_t group_size = 0;        ///< most invocations of a workgroup
  uint32_t shared_bytes = 0;      ///< shared memory of a workgroup
  uint32_t busy_groups = 0;       ///< workgroups of 128 that keep the device busy, an estimate
};
/// What every device of Vulkan 1.1 has.
constexpr VulkanLimits kVulkanFloor = {
    uint64_t{1} << 27, uint64_t{1} << 30, 256, 65535, 128, 16384, 128};

/// Flags of memory that the host and the device share.
constexpr VkMemoryPropertyFlags kHostFlags =
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
/// Flags of memory that the host also reads fast.
constexpr VkMemoryPropertyFlags kCachedFlags = kHostFlags | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;

struct VulkanPhysical {
  static constexpr int kNoFamily = -1;

  VkPhysicalDevice handle = VK_NULL_HANDLE;
  VkPhysicalDeviceProperties properties = {};
  VkPhysicalDeviceIDProperties id = {};
  VkPhysicalDeviceMemoryProperties memory = {};
  VulkanLimits limits;
  int family = kNoFamily;  ///< the first whose queues compute
  bool has_clock = false;  ///< queues of the family write times

  /// Only the properties of a device older than Vulkan 1.1 are known.
  bool is_new_enough() const { return properties.apiVersion >= VK_API_VERSION_1_1; }
  /// Whether the device's own memory is also the host's, and fast to read there.
  bool shares_memory() const;
};

constexpr uint32_t kMostVulkanDevices = 16;

/// Makes an instance, and finds all functions of VulkanApi but those of a device. kUnsupported: the
/// loader is too old, or no driver is installed.
Fault make_instance(VulkanApi* api, VkInstance* instance);
/// `count` is at most kMostVulkanDevices.
Fault list_devices(const VulkanApi& api, VkInstance instance, VkPhysicalDevice* devices,
                   uint32_t* count);
/// `family`: the queue family to use, or kNoFamily for the first that computes.
VulkanPhysical describe_device(const VulkanApi& api, VkPhysicalDevice device,
                               int family = VulkanPhysical::kNoFamily);
/// kUnsupported: the device is older than Vulkan 1.1, has no compute queue, or one of its limits is
/// lower than Vulkan allows; the message says which.
Fault check_floor(const VulkanPhysical& device);

}  // namespace lazyrt
