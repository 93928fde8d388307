#include "runtime/backends/vulkan/recording.h"

#include <algorithm>

namespace lazyrt {

Fault Recording::record(const VulkanDevice& device, VkCommandPool pool, const Recorder& recorder,
                        const Recorder::Mark& from, const Recorder::Mark& to, bool timed) {
  const VulkanApi& api = device.api();
  if (buffer == VK_NULL_HANDLE) {
    VkCommandBufferAllocateInfo info = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    info.commandPool = pool;
    info.commandBufferCount = 1;
    LAZYRT_VK_RETURN_IF_ERROR(api, AllocateCommandBuffers, device.handle(), &info, &buffer);
  }
  LAZYRT_RETURN_IF_ERROR(make_sets(device, to.dispatches - from.dispatches));
  if (timed) LAZYRT_RETURN_IF_ERROR(make_times(device, to.nodes - from.nodes + 1));
  const VkCommandBufferBeginInfo begin = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  LAZYRT_VK_RETURN_IF_ERROR(api, BeginCommandBuffer, buffer, &begin);
  LAZYRT_RETURN_IF_ERROR(recorder.emit(from, to, buffer, sets, timed ? times : VK_NULL_HANDLE));
  LAZYRT_VK_RETURN_IF_ERROR(api, EndCommandBuffer, buffer);
  return {};
}

void Recording::release(const VulkanDevice& device, VkCommandPool pool) {
  const VulkanApi& api = device.api();
  if (buffer != VK_NULL_HANDLE) api.FreeCommandBuffers(device.handle(), pool, 1, &buffer);
  if (sets != VK_NULL_HANDLE) api.DestroyDescriptorPool(device.handle(), sets, nullptr);
  if (times != VK_NULL_HANDLE) api.DestroyQueryPool(device.handle(), times, nullptr);
  *this = {};
}

/// Makes a descriptor set for each dispatch, from a pool that only grows.
Fault Recording::make_sets(const VulkanDevice& device, size_t count) {
  const VulkanApi& api = device.api();
  if (count <= set_room) {
    if (set_room != 0)
      LAZYRT_VK_RETURN_IF_ERROR(api, ResetDescriptorPool, device.handle(), sets, 0);
    return {};
  }
  if (sets != VK_NULL_HANDLE) api.DestroyDescriptorPool(device.handle(), sets, nullptr);
  sets = VK_NULL_HANDLE;
  set_room = 0;
  const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                     static_cast<uint32_t>(count * kMostOperands)};
  VkDescriptorPoolCreateInfo info = {VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
  info.maxSets = static_cast<uint32_t>(count);
  info.poolSizeCount = 1;
  info.pPoolSizes = &size;
  LAZYRT_VK_RETURN_IF_ERROR(api, CreateDescriptorPool, device.handle(), &info, nullptr, &sets);
  set_room = static_cast<uint32_t>(count);
  return {};
}

Fault Recording::make_times(const VulkanDevice& device, size_t count) {
  const VulkanApi& api = device.api();
  if (count <= time_room) return {};
  if (times != VK_NULL_HANDLE) api.DestroyQueryPool(device.handle(), times, nullptr);
  times = VK_NULL_HANDLE;
  time_room = 0;
  VkQueryPoolCreateInfo info = {VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
  info.queryType = VK_QUERY_TYPE_TIMESTAMP;
  info.queryCount = static_cast<uint32_t>(count);
  LAZYRT_VK_RETURN_IF_ERROR(api, CreateQueryPool, device.handle(), &info, nullptr, &times);
  time_room = static_cast<uint32_t>(count);
  return {};
}

}  // namespace lazyrt
