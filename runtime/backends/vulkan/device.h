#pragma once

// A device of Vulkan: instance, logical device, queue, and what it can do.

#include "runtime/backends/vulkan/api.h"
#include "runtime/backends/vulkan/refusals.h"
#include "runtime/core/allocator.h"
#include "runtime/platform/threads.h"

namespace lazyrt {

/// What shaders and sessions must keep to.
struct VulkanLimits {
  uint64_t storage_range = 0;     ///< most bytes of one operand
  uint64_t allocation_bytes = 0;  ///< most of one block
  uint32_t offset_alignment = 1;  ///< of operands in their buffer; a power of two
  uint32_t groups = 0;            ///< most workgroups in each dimension
  uint32_t group_size = 0;        ///< most invocations of a workgroup
  uint32_t shared_bytes = 0;      ///< shared memory of a workgroup
};
/// What every device of Vulkan 1.1 has.
constexpr VulkanLimits kVulkanFloor = {
    uint64_t{1} << 27, uint64_t{1} << 30, 256, 65535, 128, 16384};

struct VulkanDeviceOptions {
  int number = -1;  ///< of the instance's devices; -1: the best
  PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr;  ///< nullptr: the system's loader's
  bool mask_to_floor = false;
  /// No memory of the device is mapped, as on a device with memory of its own.
  bool force_staging = false;
};

/// A buffer with memory of its own.
struct VulkanBuffer {
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  uint64_t bytes = 0;
  uint8_t* mapped = nullptr;  ///< where the host has it, coherent; nullptr: it does not
};

/// Safe to use from any thread once it is open.
class VulkanDevice {
 public:
  VulkanDevice() = default;
  VulkanDevice(const VulkanDevice&) = delete;
  VulkanDevice& operator=(const VulkanDevice&) = delete;
  ~VulkanDevice();

  /// kUnsupported: no Vulkan, no such device, or one that lacks what is needed. REQUIRES: called
  /// once.
  Fault open(const VulkanDeviceOptions& options);

  const VulkanApi& api() const { return api_; }
  VkDevice handle() const { return device_; }
  const VulkanLimits& limits() const { return limits_; }
  VulkanRefusals& refusals() { return refusals_; }
  uint32_t queue_family() const { return family_; }
  /// Whether its queue can write times.
  bool has_clock() const { return has_clock_; }
  /// Submissions so far. Any thread.
  uint64_t submissions() {
    const Lock lock(queue_mutex_);
    return submissions_;
  }
  const VkPhysicalDeviceProperties& properties() const { return properties_; }

  /// For the device's work. Mapped where the host shares the device's memory and caches it.
  Fault make_buffer(uint64_t bytes, VulkanBuffer* buffer) const {
    return make(bytes, false, buffer);
  }
  /// For what the host writes and reads: always mapped.
  Fault make_host_buffer(uint64_t bytes, VulkanBuffer* buffer) const {
    return make(bytes, true, buffer);
  }
  void release_buffer(const VulkanBuffer& buffer) const;

  /// One after the other, from any thread.
  Fault submit(const VkSubmitInfo& info, VkFence fence);
  /// Until the fence's submission has ended. After an error the device is lost.
  Fault wait(VkFence fence);
  /// Until all submissions have ended. After an error the device is lost.
  Fault wait_idle();

 private:
  Fault open_instance();
  Fault choose_device(int number);
  Fault choose_queue();
  Fault open_device();
  void read_limits(bool mask_to_floor);
  Fault make(uint64_t bytes, bool is_host, VulkanBuffer* buffer) const;
  Fault give_memory(bool is_host, VulkanBuffer* buffer) const;
  uint32_t memory_type(uint32_t allowed, bool is_host) const;

  VulkanApi api_;
  VkInstance instance_ = VK_NULL_HANDLE;
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  uint32_t family_ = 0;
  bool maps_device_memory_ = false;
  VkPhysicalDeviceProperties properties_ = {};
  VkPhysicalDeviceMaintenance3Properties maintenance_ = {};
  VkPhysicalDeviceMemoryProperties memory_ = {};
  VulkanLimits limits_;
  VulkanRefusals refusals_;
  bool has_clock_ = false;
  Mutex queue_mutex_;
  uint64_t submissions_ = 0;
};

}  // namespace lazyrt
