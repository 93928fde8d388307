#pragma once

// A session's use of the device: its work in the order of the calls, which is submitted together
// and as late as possible unless it is long (decisions/0004), and the staging memory for its
// copies.

#include "runtime/backends/vulkan/program.h"
#include "runtime/backends/vulkan/recording.h"
#include "runtime/core/run_stop.h"

namespace lazyrt {

class VulkanSegment;

/// One thread at a time.
class VulkanSession {
 public:
  /// `stop`: what stops the session's runs; nullptr: nothing does.
  VulkanSession(VulkanProgram* program, bool timed, const RunStop* stop,
                const Allocator& allocator);
  VulkanSession(const VulkanSession&) = delete;
  VulkanSession& operator=(const VulkanSession&) = delete;
  ~VulkanSession();

  /// REQUIRES: called once, before the other functions.
  Fault make();
  VulkanProgram& program() { return program_; }
  VulkanDevice& device() { return program_.device(); }
  VkCommandPool command_pool() const { return pool_; }
  const void* error_word() const { return error_word_; }
  /// Whether times of nodes are asked for.
  bool is_timed() const { return timed_; }
  /// Whether a submission with this much work has room for this much more.
  bool fits(Work work, Work more) const {
    return (work + more).steps() <= program_.device().submission_work();
  }

  // As Device says. After an error they do nothing until `wait` has returned it.
  Fault submit(const VulkanSegment* segment);
  Fault copy_in(void* to, const void* from, uint64_t bytes);
  Fault copy_out(void* to, const void* from, uint64_t bytes);
  Fault copy(void* to, const void* from, uint64_t bytes);
  Fault flush();
  Fault wait(size_t* node);

 private:
  /// Bytes that the host gets once all is done: from the device's memory itself if that is mapped
  /// and nothing is queued after it, else from the staging memory.
  struct Readback {
    uint8_t* to;
    const void* from;  ///< address of the device
    const uint8_t* mapped;
    uint64_t bytes;
    bool is_staged;
  };

  /// A fence, and whether a submission signals it that was not waited for yet.
  struct Turn {
    VkFence fence = VK_NULL_HANDLE;
    bool is_running = false;
  };

  static constexpr uint64_t kNotRecorded = UINT64_MAX;

  /// Copies between segments as they were recorded: a run with the same copies records nothing.
  struct CopyBatch {
    CopyBatch(VulkanProgram* program, const Allocator& allocator)
        : commands(program->device(), &program->pipelines(), &program->memory(), allocator) {}
    Recorder commands;
    Recording recording;
    uint64_t generation = kNotRecorded;  ///< of the memory
  };

  bool is_running() const { return is_flushed_ || turns_[0].is_running || turns_[1].is_running; }
  bool is_queued() const { return !queued_.empty() || copies_.has_commands(); }
  bool is_idle() const { return !is_running() && !is_queued(); }
  /// Puts the recorded copies into a command buffer after what is queued.
  Fault end_copies();
  Fault add_batch();
  Fault stage(uint64_t bytes, uint64_t* offset);
  Fault make_room(uint64_t bytes);
  Fault stage_readback(Readback* readback);
  Fault stage_readbacks();
  Fault start(VkFence fence);
  Fault start_turn();
  Fault wait_for(Turn* turn);
  Fault wait_for_all();
  void begin_submission();
  Fault submit_long_work();
  /// Submits what is queued, waits for it, and keeps the first error.
  void drain();
  Fault finish();
  Fault make_fence(VkFence* fence);
  void destroy_fence(VkFence* fence);
  Fault read_error_word();

  VulkanProgram& program_;
  const Allocator allocator_;
  const VulkanApi& api_;
  const bool timed_;
  const RunStop* const stop_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  Turn turns_[2];
  size_t next_turn_ = 0;  ///< the turn of the next submission; it is not running
  void* error_word_ = nullptr;
  ErrorBlock* error_mapped_ = nullptr;
  void* staging_ = nullptr;
  uint8_t* staging_mapped_ = nullptr;
  uint64_t staging_bytes_ = 0, staged_ = 0;
  Recorder copies_;  ///< not yet a command buffer
  List<CopyBatch*> batches_;
  size_t batches_used_ = 0;
  List<VkCommandBuffer> queued_;         ///< not submitted
  Work queued_work_;                     ///< of segments
  List<const VulkanSegment*> segments_;  ///< queued or running
  List<Readback> readbacks_;
  bool is_flushed_ = false;  ///< a submission without a fence follows the last fence
  bool is_lost_ = false;     ///< the device, and with it all that was there
  FirstFault error_;
  size_t error_node_ = 0;
  VulkanStatistics done_;  ///< since the last wait
};

}  // namespace lazyrt
