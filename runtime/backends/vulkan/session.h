#pragma once

// What a session has of the device: its commands in the order of the calls, which are submitted
// together as late as possible, and the staging memory of its copies.

#include "runtime/backends/vulkan/program.h"
#include "runtime/backends/vulkan/recorder.h"

namespace lazyrt {

class VulkanSegment;

/// One thread at a time.
class VulkanSession {
 public:
  VulkanSession(VulkanProgram* program, const Allocator& allocator);
  VulkanSession(const VulkanSession&) = delete;
  VulkanSession& operator=(const VulkanSession&) = delete;
  ~VulkanSession();

  /// REQUIRES: called once, before the rest.
  Fault make();
  VulkanProgram& program() { return program_; }
  VulkanDevice& device() { return program_.device(); }
  VkCommandPool command_pool() const { return pool_; }
  const void* error_word() const { return error_word_; }

  // As Device says.
  Fault submit(const VulkanSegment* segment);
  Fault copy_in(void* to, const void* from, uint64_t bytes);
  Fault copy_out(void* to, const void* from, uint64_t bytes);
  Fault copy(void* to, const void* from, uint64_t bytes);
  Fault wait();

  /// Since the session was made.
  uint64_t submissions() const { return submissions_; }

 private:
  struct Readback {
    void* to;
    uint64_t staged, bytes;
  };

  bool is_idle() const { return buffers_.empty() && !is_copying_; }
  Fault begin_copies();
  Fault end_copies();
  Fault stage(uint64_t bytes, uint64_t* offset);
  Fault make_room(uint64_t bytes);
  Fault copy_in_piece(const VulkanPlace& to, const uint8_t* from, uint64_t bytes);
  /// Submits what is queued, waits for it, and keeps the first error.
  void drain();
  Fault submit_and_wait();
  Fault read_error_word();

  VulkanProgram& program_;
  const VulkanApi& api_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
  void* error_word_ = nullptr;
  VulkanBuffer staging_;
  uint64_t staged_ = 0;                  ///< bytes of it in use
  List<VkCommandBuffer> buffers_;        ///< queued, ended
  List<const VulkanSegment*> segments_;  ///< queued
  List<VkCommandBuffer> copy_buffers_;   ///< all there are for copies
  size_t copy_buffers_used_ = 0;
  bool is_copying_ = false;  ///< the last of those used is open
  List<Readback> readbacks_;
  FirstFault error_;
  uint64_t submissions_ = 0;
};

}  // namespace lazyrt
