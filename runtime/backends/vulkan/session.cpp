#include "runtime/backends/vulkan/session.h"

#include <algorithm>
#include <cstring>

#include "runtime/backends/vulkan/segment.h"

namespace lazyrt {
namespace {

constexpr uint64_t kLeastStaging = uint64_t{1} << 20, kMostStaging = uint64_t{64} << 20;

constexpr uint64_t in_words(uint64_t bytes) { return (bytes + 3) / 4 * 4; }

}  // namespace

VulkanSession::VulkanSession(VulkanProgram* program, const Allocator& allocator)
    : program_(*program),
      api_(program->device().api()),
      buffers_(allocator),
      segments_(allocator),
      copy_buffers_(allocator),
      readbacks_(allocator) {}

VulkanSession::~VulkanSession() {
  VulkanDevice& device = program_.device();
  if (fence_ != VK_NULL_HANDLE) api_.DestroyFence(device.handle(), fence_, nullptr);
  if (pool_ != VK_NULL_HANDLE) api_.DestroyCommandPool(device.handle(), pool_, nullptr);
  if (error_word_ != nullptr) program_.memory().release(error_word_);
  device.release_buffer(staging_);
}

Fault VulkanSession::make() {
  VulkanDevice& device = program_.device();
  VkCommandPoolCreateInfo pool = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  pool.queueFamilyIndex = device.queue_family();
  LAZYRT_VK_RETURN_IF_ERROR(api_, CreateCommandPool, device.handle(), &pool, nullptr, &pool_);
  const VkFenceCreateInfo fence = {VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  LAZYRT_VK_RETURN_IF_ERROR(api_, CreateFence, device.handle(), &fence, nullptr, &fence_);
  LAZYRT_RETURN_IF_ERROR(program_.memory().allocate_host(Recorder::kErrorBytes, &error_word_));
  VulkanPlace word;
  LAZYRT_RETURN_IF_ERROR(program_.memory().find(error_word_, Recorder::kErrorBytes, &word));
  std::memset(word.mapped, 0, Recorder::kErrorBytes);
  return {};
}

/// Opens a command buffer for copies behind what is queued, unless the last one is open.
Fault VulkanSession::begin_copies() {
  if (is_copying_) return {};
  if (copy_buffers_used_ == copy_buffers_.size()) {
    VkCommandBufferAllocateInfo info = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    info.commandPool = pool_;
    info.commandBufferCount = 1;
    VkCommandBuffer buffer = VK_NULL_HANDLE;
    LAZYRT_VK_RETURN_IF_ERROR(api_, AllocateCommandBuffers, device().handle(), &info, &buffer);
    LAZYRT_RETURN_IF_ERROR(copy_buffers_.append(buffer));
  }
  VkCommandBufferBeginInfo begin = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  LAZYRT_VK_RETURN_IF_ERROR(api_, BeginCommandBuffer, copy_buffers_[copy_buffers_used_], &begin);
  ++copy_buffers_used_;
  is_copying_ = true;
  return {};
}

Fault VulkanSession::end_copies() {
  if (!is_copying_) return {};
  is_copying_ = false;
  const VkCommandBuffer buffer = copy_buffers_[copy_buffers_used_ - 1];
  barrier_to_host(api_, buffer);
  LAZYRT_VK_RETURN_IF_ERROR(api_, EndCommandBuffer, buffer);
  return buffers_.append(buffer);
}

Fault VulkanSession::submit(const VulkanSegment* segment) {
  if (!error_.ok() || !segment->has_work()) return {};
  LAZYRT_RETURN_IF_ERROR(end_copies());
  LAZYRT_RETURN_IF_ERROR(segments_.append(segment));
  return buffers_.append(segment->buffer());
}

/// Room in the staging memory. REQUIRES: bytes <= kMostStaging.
Fault VulkanSession::stage(uint64_t bytes, uint64_t* offset) {
  bytes = in_words(bytes);
  if (staging_.bytes - staged_ < bytes) LAZYRT_RETURN_IF_ERROR(make_room(bytes));
  *offset = staged_;
  staged_ += bytes;
  return {};
}

/// Finishes what uses the staging memory; it is twice as large from then on.
Fault VulkanSession::make_room(uint64_t bytes) {
  drain();
  if (!error_.ok()) return error_;
  uint64_t wanted = std::max({kLeastStaging, bytes, 2 * staging_.bytes});
  wanted = std::min(wanted, kMostStaging);
  if (staging_.bytes == wanted) return {};
  VulkanBuffer larger;
  LAZYRT_RETURN_IF_ERROR(device().make_host_buffer(wanted, &larger));
  device().release_buffer(staging_);
  staging_ = larger;
  return {};
}

Fault VulkanSession::copy_in(void* to, const void* from, uint64_t bytes) {
  if (!error_.ok() || bytes == 0) return {};
  VulkanPlace place;
  LAZYRT_RETURN_IF_ERROR(program_.memory().find(to, bytes, &place));
  if (place.mapped != nullptr && is_idle()) {
    std::memcpy(place.mapped, from, static_cast<size_t>(bytes));
    return {};
  }
  for (uint64_t done = 0; done < bytes; done += kMostStaging) {
    VulkanPlace piece = place;
    piece.offset += done;
    LAZYRT_RETURN_IF_ERROR(copy_in_piece(piece, static_cast<const uint8_t*>(from) + done,
                                         std::min(bytes - done, kMostStaging)));
  }
  return {};
}

Fault VulkanSession::copy_in_piece(const VulkanPlace& to, const uint8_t* from, uint64_t bytes) {
  uint64_t staged = 0;
  LAZYRT_RETURN_IF_ERROR(stage(bytes, &staged));
  std::memcpy(staging_.mapped + staged, from, static_cast<size_t>(bytes));
  LAZYRT_RETURN_IF_ERROR(begin_copies());
  const VkCommandBuffer buffer = copy_buffers_[copy_buffers_used_ - 1];
  full_barrier(api_, buffer);
  const VkBufferCopy region = {staged, to.offset, in_words(bytes)};
  api_.CmdCopyBuffer(buffer, staging_.buffer, to.buffer, 1, &region);
  return {};
}

Fault VulkanSession::copy_out(void* to, const void* from, uint64_t bytes) {
  VulkanPlace place;
  LAZYRT_RETURN_IF_ERROR(program_.memory().find(from, bytes, &place));
  for (uint64_t done = 0; place.mapped == nullptr && error_.ok() && done < bytes;
       done += kMostStaging) {
    const uint64_t piece = std::min(bytes - done, kMostStaging);
    Readback readback = {static_cast<uint8_t*>(to) + done, 0, piece};
    LAZYRT_RETURN_IF_ERROR(stage(piece, &readback.staged));
    LAZYRT_RETURN_IF_ERROR(begin_copies());
    const VkCommandBuffer buffer = copy_buffers_[copy_buffers_used_ - 1];
    full_barrier(api_, buffer);
    const VkBufferCopy region = {place.offset + done, readback.staged, in_words(piece)};
    api_.CmdCopyBuffer(buffer, place.buffer, staging_.buffer, 1, &region);
    LAZYRT_RETURN_IF_ERROR(readbacks_.append(readback));
  }
  drain();
  if (!error_.ok()) return error_;
  if (place.mapped != nullptr) std::memcpy(to, place.mapped, static_cast<size_t>(bytes));
  return {};
}

Fault VulkanSession::copy(void* to, const void* from, uint64_t bytes) {
  if (!error_.ok() || bytes == 0) return {};
  VulkanPlace target, source;
  LAZYRT_RETURN_IF_ERROR(program_.memory().find(to, bytes, &target));
  LAZYRT_RETURN_IF_ERROR(program_.memory().find(from, bytes, &source));
  LAZYRT_RETURN_IF_ERROR(begin_copies());
  const VkCommandBuffer buffer = copy_buffers_[copy_buffers_used_ - 1];
  full_barrier(api_, buffer);
  const VkBufferCopy region = {source.offset, target.offset, in_words(bytes)};
  api_.CmdCopyBuffer(buffer, source.buffer, target.buffer, 1, &region);
  return {};
}

Fault VulkanSession::wait() {
  drain();
  const Fault error = error_;
  error_ = FirstFault();
  return error;
}

void VulkanSession::drain() {
  if (is_idle()) return;
  const Fault fault = submit_and_wait();
  error_.add(fault);
  for (const Readback& readback : readbacks_) {
    if (fault.ok())
      std::memcpy(readback.to, staging_.mapped + readback.staged,
                  static_cast<size_t>(readback.bytes));
  }
  readbacks_.clear();
  buffers_.clear();
  segments_.clear();
  is_copying_ = false;
  copy_buffers_used_ = 0;
  staged_ = 0;
}

Fault VulkanSession::submit_and_wait() {
  LAZYRT_RETURN_IF_ERROR(end_copies());
  VkSubmitInfo info = {VK_STRUCTURE_TYPE_SUBMIT_INFO};
  info.commandBufferCount = static_cast<uint32_t>(buffers_.size());
  info.pCommandBuffers = buffers_.data();
  const VkDevice handle = device().handle();
  LAZYRT_RETURN_IF_ERROR(device().submit(info, fence_));
  ++submissions_;
  LAZYRT_VK_RETURN_IF_ERROR(api_, WaitForFences, handle, 1, &fence_, VK_TRUE, UINT64_MAX);
  LAZYRT_VK_RETURN_IF_ERROR(api_, ResetFences, handle, 1, &fence_);
  return read_error_word();
}

Fault VulkanSession::read_error_word() {
  VulkanPlace place;
  LAZYRT_RETURN_IF_ERROR(program_.memory().find(error_word_, Recorder::kErrorBytes, &place));
  uint32_t words[Recorder::kErrorBytes / 4];
  std::memcpy(words, place.mapped, sizeof(words));
  if (words[0] == 0) return {};
  std::memset(place.mapped, 0, sizeof(words));
  for (const VulkanSegment* segment : segments_) {
    if (const Recorder::Failure* failure = segment->find_failure(words[0])) {
      return Fault(failure->error, failure->text)
          .with_context("node %zu (%s)", failure->node, failure->op);
    }
  }
  return Fault(Error::kInternal, "the device set an unknown error %u", words[0]);
}

}  // namespace lazyrt
