#include "runtime/backends/vulkan/device.h"

#include <algorithm>

namespace lazyrt {
namespace {

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

/// Holds the app's lock while its queue is used.
class AppTurn {
 public:
  explicit AppTurn(const VulkanAppDevice& app) : app_(app) {
    if (app_.lock != nullptr) app_.lock(app_.context);
  }
  AppTurn(const AppTurn&) = delete;
  AppTurn& operator=(const AppTurn&) = delete;
  ~AppTurn() {
    if (app_.unlock != nullptr) app_.unlock(app_.context);
  }

 private:
  const VulkanAppDevice& app_;
};

}  // namespace

VulkanDevice::~VulkanDevice() {
  if (app_.device == nullptr && device_ != VK_NULL_HANDLE && api_.DestroyDevice != nullptr)
    api_.DestroyDevice(device_, nullptr);
  if (app_.device == nullptr && instance_ != VK_NULL_HANDLE && api_.DestroyInstance != nullptr)
    api_.DestroyInstance(instance_, nullptr);
  close_loader(&api_);
}

Fault VulkanDevice::open(const VulkanOptions& options) {
  LAZYRT_RETURN_IF_ERROR(options.app_device == nullptr ? open_own(options)
                                                       : open_of_app(*options.app_device));
  limits_ = physical_.limits;
  if (options.mask_to_floor) mask_to_floor();
  submission_work_ =
      options.submission_work == 0 ? kDefaultSubmissionWork : options.submission_work;
  maps_device_memory_ = !options.force_staging && physical_.shares_memory();
  return {};
}

Fault VulkanDevice::open_own(const VulkanOptions& options) {
  LAZYRT_RETURN_IF_ERROR(load_global_functions(&api_, options.get_instance_proc_addr));
  LAZYRT_RETURN_IF_ERROR(make_instance(&api_, &instance_));
  LAZYRT_RETURN_IF_ERROR(choose_device(options.device));
  LAZYRT_RETURN_IF_ERROR(make_device());
  LAZYRT_RETURN_IF_ERROR(load_device_functions(&api_, device_));
  api_.GetDeviceQueue(device_, queue_family(), 0, &queue_);
  return {};
}

Fault VulkanDevice::open_of_app(const VulkanAppDevice& app) {
  if (app.get_instance_proc_addr == nullptr || app.instance == nullptr ||
      app.physical_device == nullptr || app.device == nullptr || app.queue == nullptr)
    return Fault(Error::kInvalidArgument, "VulkanAppDevice: a handle is null");
  app_ = app;
  instance_ = app.instance;
  device_ = app.device;
  queue_ = app.queue;
  api_.get_instance_proc_addr = app.get_instance_proc_addr;
  LAZYRT_RETURN_IF_ERROR(load_instance_functions(&api_, instance_));
  LAZYRT_RETURN_IF_ERROR(load_device_functions(&api_, device_));
  physical_ = describe_device(api_, app.physical_device, static_cast<int>(app.queue_family));
  return check_floor(physical_);
}

/// Chooses the device of that number, or the first of the fastest kind that meets the minimum.
Fault VulkanDevice::choose_device(int number) {
  VkPhysicalDevice devices[kMostVulkanDevices];
  uint32_t count = 0;
  LAZYRT_RETURN_IF_ERROR(list_devices(api_, instance_, devices, &count));
  if (number >= static_cast<int>(count))
    return Fault(Error::kUnsupported, "there is no device %d of Vulkan: there are %u", number,
                 count);
  if (number >= 0) {
    physical_ = describe_device(api_, devices[number]);
    return check_floor(physical_);
  }
  FirstFault refused;
  int best = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const VulkanPhysical device = describe_device(api_, devices[i]);
    const Fault fault = check_floor(device);
    refused.add(fault);
    const int rank = rank_of(device.properties.deviceType);
    if (!fault.ok() || rank <= best) continue;
    best = rank;
    physical_ = device;
  }
  if (best != 0) return {};
  return refused.ok() ? Fault(Error::kUnsupported, "there is no device of Vulkan on this system")
                      : Fault(refused);
}

Fault VulkanDevice::make_device() {
  const float priority = 1;
  VkDeviceQueueCreateInfo queue = {VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queue.queueFamilyIndex = queue_family();
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkPhysicalDeviceFeatures features = {};  // every device has it
  features.robustBufferAccess = VK_TRUE;
  VkDeviceCreateInfo info = {VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.pEnabledFeatures = &features;
  LAZYRT_VK_RETURN_IF_ERROR(api_, CreateDevice, physical_.handle, &info, nullptr, &device_);
  return {};
}

void VulkanDevice::mask_to_floor() {
  limits_.storage_range = std::min(limits_.storage_range, kVulkanFloor.storage_range);
  limits_.allocation_bytes = std::min(limits_.allocation_bytes, kVulkanFloor.allocation_bytes);
  limits_.offset_alignment = std::max(limits_.offset_alignment, kVulkanFloor.offset_alignment);
  limits_.groups = std::min(limits_.groups, kVulkanFloor.groups);
  limits_.group_size = std::min(limits_.group_size, kVulkanFloor.group_size);
  limits_.shared_bytes = std::min(limits_.shared_bytes, kVulkanFloor.shared_bytes);
  limits_.busy_groups = kVulkanFloor.busy_groups;
}

/// Returns the first of the allowed memory types that has most of the wanted flags.
uint32_t VulkanDevice::memory_type(uint32_t allowed, bool is_host) const {
  constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  const VkMemoryPropertyFlags best = is_host               ? kCachedFlags
                                     : maps_device_memory_ ? kLocal | kCachedFlags
                                                           : kLocal;
  for (const VkMemoryPropertyFlags flags : {best, is_host ? kHostFlags : kLocal, 0U}) {
    for (uint32_t i = 0; i < physical_.memory.memoryTypeCount; ++i) {
      const bool fits = (physical_.memory.memoryTypes[i].propertyFlags & flags) == flags;
      if (fits && (allowed >> i & 1) != 0) return i;
    }
  }
  return 0;
}

Fault VulkanDevice::make(uint64_t bytes, bool is_host, VulkanBuffer* buffer) const {
  if (bytes > limits_.allocation_bytes) {
    return Fault(Error::kOutOfMemory, "device '%s' allocates at most %llu bytes at once, not %llu",
                 physical_.properties.deviceName,
                 static_cast<unsigned long long>(limits_.allocation_bytes),
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
    destroy_buffer(made);
    return fault.with_context("%llu bytes of device '%s'", static_cast<unsigned long long>(bytes),
                              physical_.properties.deviceName);
  }
  *buffer = made;
  const Lock lock(statistics_mutex_);
  statistics_.memory_bytes += made.bytes;
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
  const VkMemoryPropertyFlags flags =
      physical_.memory.memoryTypes[info.memoryTypeIndex].propertyFlags;
  const bool is_cached = (flags & kCachedFlags) == kCachedFlags;
  if (!is_host && (!maps_device_memory_ || !is_cached)) return {};
  void* data = nullptr;
  LAZYRT_VK_RETURN_IF_ERROR(api_, MapMemory, device_, buffer->memory, 0, VK_WHOLE_SIZE, 0, &data);
  buffer->mapped = static_cast<uint8_t*>(data);
  return {};
}

void VulkanDevice::release_buffer(const VulkanBuffer& buffer) const {
  destroy_buffer(buffer);
  const Lock lock(statistics_mutex_);
  statistics_.memory_bytes -= buffer.bytes;
}

void VulkanDevice::destroy_buffer(const VulkanBuffer& buffer) const {
  if (buffer.buffer != VK_NULL_HANDLE) api_.DestroyBuffer(device_, buffer.buffer, nullptr);
  if (buffer.memory != VK_NULL_HANDLE) api_.FreeMemory(device_, buffer.memory, nullptr);
}

void VulkanDevice::count(const VulkanStatistics& work) {
  const Lock lock(statistics_mutex_);
  statistics_.submissions += work.submissions;
  statistics_.waits += work.waits;
  statistics_.dispatches += work.dispatches;
  statistics_.bytes_in += work.bytes_in;
  statistics_.bytes_out += work.bytes_out;
}

Fault VulkanDevice::submit(const VkSubmitInfo& info, VkFence fence) {
  const Lock lock(queue_mutex_);
  const AppTurn turn(app_);
  count({0, 1});
  return vulkan_fault(api_.QueueSubmit(queue_, 1, &info, fence), "vkQueueSubmit");
}

Fault VulkanDevice::wait(VkFence fence) {
  count({0, 0, 1});
  const VkResult waited = api_.WaitForFences(device_, 1, &fence, VK_TRUE, UINT64_MAX);
  // The work goes on, and uses memory that the caller may release: try to wait without the fence.
  if (waited == VK_SUCCESS || wait_idle().ok()) return {};
  return vulkan_fault(waited, "vkWaitForFences");
}

Fault VulkanDevice::wait_idle() {
  const Lock lock(queue_mutex_);
  const AppTurn turn(app_);
  return vulkan_fault(api_.QueueWaitIdle(queue_), "vkQueueWaitIdle");
}

}  // namespace lazyrt
