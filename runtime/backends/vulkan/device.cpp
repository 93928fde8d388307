#include "runtime/backends/vulkan/device.h"

#include <algorithm>

namespace lazyrt {
namespace {

constexpr uint32_t kMostDevices = 16, kMostFamilies = 16;

/// Higher is better.
int rank_of(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return 4;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return 3;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return 2;
    default:
      return 1;
  }
}

constexpr VkMemoryPropertyFlags kHostFlags =
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
/// Of memory that the host reads fast.
constexpr VkMemoryPropertyFlags kCachedFlags = kHostFlags | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;

}  // namespace

VulkanDevice::~VulkanDevice() {
  if (device_ != VK_NULL_HANDLE && api_.DestroyDevice != nullptr)
    api_.DestroyDevice(device_, nullptr);
  if (instance_ != VK_NULL_HANDLE && api_.DestroyInstance != nullptr)
    api_.DestroyInstance(instance_, nullptr);
  close_loader(&api_);
}

Fault VulkanDevice::open(const VulkanDeviceOptions& options) {
  LAZYRT_RETURN_IF_ERROR(load_global_functions(&api_, options.get_instance_proc_addr));
  LAZYRT_RETURN_IF_ERROR(open_instance());
  LAZYRT_RETURN_IF_ERROR(choose_device(options.number));
  LAZYRT_RETURN_IF_ERROR(choose_queue());
  LAZYRT_RETURN_IF_ERROR(open_device());
  read_limits(options.mask_to_floor);
  const bool is_discrete = properties_.deviceType == VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
  maps_device_memory_ = !options.force_staging && !is_discrete;
  return {};
}

Fault VulkanDevice::open_instance() {
  uint32_t version = 0;
  LAZYRT_VK_RETURN_IF_ERROR(api_, EnumerateInstanceVersion, &version);
  if (version < VK_API_VERSION_1_1)
    return Fault(Error::kUnsupported, "Vulkan's loader is older than 1.1");
  VkApplicationInfo application = {VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.pEngineName = "LazyRT";
  application.apiVersion = VK_API_VERSION_1_1;
  VkInstanceCreateInfo info = {VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  info.pApplicationInfo = &application;
  const VkResult result = api_.CreateInstance(&info, nullptr, &instance_);
  if (result == VK_ERROR_INCOMPATIBLE_DRIVER)
    return Fault(Error::kUnsupported, "there is no driver of Vulkan on this system");
  LAZYRT_RETURN_IF_ERROR(vulkan_fault(result, "vkCreateInstance"));
  return load_instance_functions(&api_, instance_);
}

Fault VulkanDevice::choose_device(int number) {
  VkPhysicalDevice devices[kMostDevices];
  uint32_t count = kMostDevices;
  const VkResult result = api_.EnumeratePhysicalDevices(instance_, &count, devices);
  if (result != VK_INCOMPLETE)
    LAZYRT_RETURN_IF_ERROR(vulkan_fault(result, "vkEnumeratePhysicalDevices"));
  if (number >= static_cast<int>(count))
    return Fault(Error::kUnsupported, "there is no device %d of Vulkan: there are %u", number,
                 count);
  int best = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (number >= 0 && static_cast<uint32_t>(number) != i) continue;
    VkPhysicalDeviceMaintenance3Properties maintenance = {
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES};
    VkPhysicalDeviceProperties2 all = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                       &maintenance};
    api_.GetPhysicalDeviceProperties2(devices[i], &all);
    if (all.properties.apiVersion < VK_API_VERSION_1_1) continue;
    if (rank_of(all.properties.deviceType) <= best) continue;
    best = rank_of(all.properties.deviceType);
    physical_ = devices[i];
    properties_ = all.properties;
    maintenance_ = maintenance;
  }
  if (best == 0) return Fault(Error::kUnsupported, "no device of Vulkan 1.1 among %u", count);
  api_.GetPhysicalDeviceMemoryProperties(physical_, &memory_);
  return {};
}

Fault VulkanDevice::choose_queue() {
  VkQueueFamilyProperties families[kMostFamilies];
  uint32_t count = kMostFamilies;
  api_.GetPhysicalDeviceQueueFamilyProperties(physical_, &count, families);
  for (family_ = 0; family_ < count; ++family_) {
    if ((families[family_].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0) continue;
    has_clock_ = families[family_].timestampValidBits != 0;
    return {};
  }
  return Fault(Error::kUnsupported, "device '%s' has no queue that computes",
               properties_.deviceName);
}

Fault VulkanDevice::open_device() {
  const float priority = 1;
  VkDeviceQueueCreateInfo queue = {VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queue.queueFamilyIndex = family_;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkPhysicalDeviceFeatures features = {};  // every device has it
  features.robustBufferAccess = VK_TRUE;
  VkDeviceCreateInfo info = {VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.pEnabledFeatures = &features;
  LAZYRT_VK_RETURN_IF_ERROR(api_, CreateDevice, physical_, &info, nullptr, &device_);
  LAZYRT_RETURN_IF_ERROR(load_device_functions(&api_, device_));
  api_.GetDeviceQueue(device_, family_, 0, &queue_);
  return {};
}

void VulkanDevice::read_limits(bool mask_to_floor) {
  const VkPhysicalDeviceLimits& have = properties_.limits;
  limits_.storage_range = have.maxStorageBufferRange;
  limits_.allocation_bytes = maintenance_.maxMemoryAllocationSize;
  limits_.offset_alignment =
      std::max<uint32_t>(static_cast<uint32_t>(have.minStorageBufferOffsetAlignment), 4);
  limits_.groups = std::min({have.maxComputeWorkGroupCount[0], have.maxComputeWorkGroupCount[1],
                             have.maxComputeWorkGroupCount[2]});
  limits_.group_size =
      std::min(have.maxComputeWorkGroupInvocations, have.maxComputeWorkGroupSize[0]);
  limits_.shared_bytes = have.maxComputeSharedMemorySize;
  if (!mask_to_floor) return;
  limits_.storage_range = std::min(limits_.storage_range, kVulkanFloor.storage_range);
  limits_.allocation_bytes = std::min(limits_.allocation_bytes, kVulkanFloor.allocation_bytes);
  limits_.offset_alignment = std::max(limits_.offset_alignment, kVulkanFloor.offset_alignment);
  limits_.groups = std::min(limits_.groups, kVulkanFloor.groups);
  limits_.group_size = std::min(limits_.group_size, kVulkanFloor.group_size);
  limits_.shared_bytes = std::min(limits_.shared_bytes, kVulkanFloor.shared_bytes);
}

/// Of the allowed types, the first with the best of the wanted flags that there are.
uint32_t VulkanDevice::memory_type(uint32_t allowed, bool is_host) const {
  constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  const VkMemoryPropertyFlags best = is_host               ? kCachedFlags
                                     : maps_device_memory_ ? kLocal | kCachedFlags
                                                           : kLocal;
  for (const VkMemoryPropertyFlags flags : {best, is_host ? kHostFlags : kLocal, 0U}) {
    for (uint32_t i = 0; i < memory_.memoryTypeCount; ++i) {
      const bool fits = (memory_.memoryTypes[i].propertyFlags & flags) == flags;
      if (fits && (allowed >> i & 1) != 0) return i;
    }
  }
  return 0;
}

Fault VulkanDevice::make(uint64_t bytes, bool is_host, VulkanBuffer* buffer) const {
  if (bytes > limits_.allocation_bytes) {
    return Fault(Error::kOutOfMemory, "device '%s' gives at most %llu bytes at once, not %llu",
                 properties_.deviceName, static_cast<unsigned long long>(limits_.allocation_bytes),
                 static_cast<unsigned long long>(bytes));
  }
  VkBufferCreateInfo info = {VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  info.size = std::max<uint64_t>(bytes, 4);
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
               VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  VulkanBuffer made;
  LAZYRT_VK_RETURN_IF_ERROR(api_, CreateBuffer, device_, &info, nullptr, &made.buffer);
  made.bytes = info.size;
  const Fault fault = give_memory(is_host, &made);
  if (!fault.ok()) {
    release_buffer(made);
    return fault.with_context("%llu bytes of device '%s'", static_cast<unsigned long long>(bytes),
                              properties_.deviceName);
  }
  *buffer = made;
  return {};
}

Fault VulkanDevice::give_memory(bool is_host, VulkanBuffer* buffer) const {
  VkMemoryRequirements needs;
  api_.GetBufferMemoryRequirements(device_, buffer->buffer, &needs);
  VkMemoryAllocateInfo info = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
  info.allocationSize = needs.size;
  info.memoryTypeIndex = memory_type(needs.memoryTypeBits, is_host);
  LAZYRT_VK_RETURN_IF_ERROR(api_, AllocateMemory, device_, &info, nullptr, &buffer->memory);
  LAZYRT_VK_RETURN_IF_ERROR(api_, BindBufferMemory, device_, buffer->buffer, buffer->memory, 0);
  const VkMemoryPropertyFlags flags = memory_.memoryTypes[info.memoryTypeIndex].propertyFlags;
  const bool is_cached = (flags & kCachedFlags) == kCachedFlags;
  if (!is_host && (!maps_device_memory_ || !is_cached)) return {};
  void* data = nullptr;
  LAZYRT_VK_RETURN_IF_ERROR(api_, MapMemory, device_, buffer->memory, 0, VK_WHOLE_SIZE, 0, &data);
  buffer->mapped = static_cast<uint8_t*>(data);
  return {};
}

void VulkanDevice::release_buffer(const VulkanBuffer& buffer) const {
  if (buffer.buffer != VK_NULL_HANDLE) api_.DestroyBuffer(device_, buffer.buffer, nullptr);
  if (buffer.memory != VK_NULL_HANDLE) api_.FreeMemory(device_, buffer.memory, nullptr);
}

Fault VulkanDevice::submit(const VkSubmitInfo& info, VkFence fence) {
  const Lock lock(queue_mutex_);
  ++submissions_;
  return vulkan_fault(api_.QueueSubmit(queue_, 1, &info, fence), "vkQueueSubmit");
}

Fault VulkanDevice::wait(VkFence fence) {
  const VkResult waited = api_.WaitForFences(device_, 1, &fence, VK_TRUE, UINT64_MAX);
  // The work goes on, and uses memory that the caller may release: try without the fence.
  if (waited == VK_SUCCESS || wait_idle().ok()) return {};
  return vulkan_fault(waited, "vkWaitForFences");
}

Fault VulkanDevice::wait_idle() {
  const Lock lock(queue_mutex_);
  return vulkan_fault(api_.QueueWaitIdle(queue_), "vkQueueWaitIdle");
}

}  // namespace lazyrt
