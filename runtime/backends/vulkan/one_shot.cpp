#include "runtime/backends/vulkan/one_shot.h"

#include "runtime/backends/vulkan/recorder.h"

namespace lazyrt {
namespace {

struct OneShot {
  VkCommandPool pool = VK_NULL_HANDLE;
  VkFence fence = VK_NULL_HANDLE;
};

Fault run(VulkanDevice* device, VkBuffer from, const VkBufferCopy& region, VkBuffer to,
          OneShot* made) {
  const VulkanApi& api = device->api();
  VkCommandPoolCreateInfo pool = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  pool.queueFamilyIndex = device->queue_family();
  LAZYRT_VK_RETURN_IF_ERROR(api, CreateCommandPool, device->handle(), &pool, nullptr, &made->pool);
  const VkFenceCreateInfo fence = {VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  LAZYRT_VK_RETURN_IF_ERROR(api, CreateFence, device->handle(), &fence, nullptr, &made->fence);
  VkCommandBufferAllocateInfo info = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  info.commandPool = made->pool;
  info.commandBufferCount = 1;
  VkCommandBuffer buffer = VK_NULL_HANDLE;
  LAZYRT_VK_RETURN_IF_ERROR(api, AllocateCommandBuffers, device->handle(), &info, &buffer);
  VkCommandBufferBeginInfo begin = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  LAZYRT_VK_RETURN_IF_ERROR(api, BeginCommandBuffer, buffer, &begin);
  full_barrier(api, buffer);
  api.CmdCopyBuffer(buffer, from, to, 1, &region);
  full_barrier(api, buffer);
  LAZYRT_VK_RETURN_IF_ERROR(api, EndCommandBuffer, buffer);
  VkSubmitInfo submit = {VK_STRUCTURE_TYPE_SUBMIT_INFO};
  submit.commandBufferCount = 1;
  submit.pCommandBuffers = &buffer;
  LAZYRT_RETURN_IF_ERROR(device->submit(submit, made->fence));
  return device->wait(made->fence);
}

}  // namespace

Fault copy_now(VulkanDevice* device, VkBuffer from, const VkBufferCopy& region, VkBuffer to) {
  OneShot made;
  const Fault fault = run(device, from, region, to, &made);
  if (made.fence != VK_NULL_HANDLE)
    device->api().DestroyFence(device->handle(), made.fence, nullptr);
  if (made.pool != VK_NULL_HANDLE)
    device->api().DestroyCommandPool(device->handle(), made.pool, nullptr);
  return fault;
}

}  // namespace lazyrt
