#pragma once

// A Vulkan device: instance, logical device, queue, and what it can do.

#include "lazyrt/vulkan.h"
#include "runtime/backends/vulkan/physical.h"
#include "runtime/backends/vulkan/refusals.h"
#include "runtime/core/allocator.h"
#include "runtime/platform/threads.h"

namespace lazyrt {

/// A buffer with memory of its own.
struct VulkanBuffer {
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  uint64_t bytes = 0;
  uint8_t* mapped = nullptr;  ///< the host's address, coherent; nullptr: the host does not have it
};

/// Safe to use from any thread once it is open.
class VulkanDevice {
 public:
  VulkanDevice() = default;
  VulkanDevice(const VulkanDevice&) = delete;
  VulkanDevice& operator=(const VulkanDevice&) = delete;
  ~VulkanDevice();

  /// kUnsupported: no Vulkan, no such device, or the device lacks something needed. REQUIRES:
  /// called once.
  Fault open(const VulkanOptions& options);

  const VulkanApi& api() const { return api_; }
  VkDevice handle() const { return device_; }
  const VulkanLimits& limits() const { return limits_; }
  VulkanRefusals& refusals() { return refusals_; }
  /// VulkanOptions::submission_work, or its default.
  uint64_t submission_work() const { return submission_work_; }
  uint32_t queue_family() const { return static_cast<uint32_t>(physical_.family); }
  /// Whether its queue can write times.
  bool has_clock() const { return physical_.has_clock; }
  /// All but pipelines. Any thread.
  VulkanStatistics statistics() {
    const Lock lock(statistics_mutex_);
    return statistics_;
  }
  /// Adds a session's counts; memory and pipelines are counted where they are made. Any thread.
  void count(const VulkanStatistics& work);
  const VulkanPhysical& physical() const { return physical_; }

  /// Makes a buffer for the device's work. It is mapped if the host shares and caches the device's
  /// memory.
  Fault make_buffer(uint64_t bytes, VulkanBuffer* buffer) const {
    return make(bytes, false, buffer);
  }
  /// Makes a buffer that the host writes and reads: it is always mapped.
  Fault make_host_buffer(uint64_t bytes, VulkanBuffer* buffer) const {
    return make(bytes, true, buffer);
  }
  void release_buffer(const VulkanBuffer& buffer) const;

  /// One after the other, from any thread.
  Fault submit(const VkSubmitInfo& info, VkFence fence);
  /// Waits until the fence's submission has ended. After an error the device is lost.
  Fault wait(VkFence fence);
  /// Waits until all submissions have ended. After an error the device is lost.
  Fault wait_idle();

 private:
  Fault open_own(const VulkanOptions& options);
  Fault open_of_app(const VulkanAppDevice& app);
  Fault choose_device(int number);
  Fault make_device();
  void mask_to_floor();
  Fault make(uint64_t bytes, bool is_host, VulkanBuffer* buffer) const;
  Fault give_memory(bool is_host, VulkanBuffer* buffer) const;
  void destroy_buffer(const VulkanBuffer& buffer) const;
  uint32_t memory_type(uint32_t allowed, bool is_host) const;

  VulkanApi api_;
  VkInstance instance_ = VK_NULL_HANDLE;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  VulkanAppDevice app_;  ///< of none: device and instance are our own
  bool maps_device_memory_ = false;
  VulkanPhysical physical_;
  VulkanLimits limits_;
  uint64_t submission_work_ = 0;
  VulkanRefusals refusals_;
  Mutex queue_mutex_;
  mutable Mutex statistics_mutex_;
  mutable VulkanStatistics statistics_;
};

}  // namespace lazyrt
