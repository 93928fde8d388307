#pragma once

// What an operator's <op>_vk.cpp records its work with. See README.md.

#include "lazyrt/tensor_view.h"
#include "runtime/backends/vulkan/memory.h"
#include "runtime/backends/vulkan/pipelines.h"
#include "runtime/op/op_def.h"

namespace lazyrt {

/// A range of the device's memory, bound to a shader exactly: it cannot access bytes outside it.
struct VulkanOperand {
  const void* address = nullptr;
  uint64_t bytes = 0;
  bool is_read = false, is_written = false;
};
inline VulkanOperand reads(const void* address, uint64_t bytes) {
  return {address, bytes, true, false};
}
inline VulkanOperand writes(const void* address, uint64_t bytes) {
  return {address, bytes, false, true};
}
inline VulkanOperand updates(const void* address, uint64_t bytes) {
  return {address, bytes, true, true};
}
inline VulkanOperand reads(const TensorView& v) { return reads(v.data, v.bytes()); }
inline VulkanOperand writes(const TensorView& v) { return writes(v.data, v.bytes()); }
inline VulkanOperand updates(const TensorView& v) { return updates(v.data, v.bytes()); }

struct VulkanGroups {
  uint32_t x = 1, y = 1, z = 1;
};
/// Invocations of a workgroup of shaders that include linear.glsl.
constexpr uint32_t kLinearGroup = 64;

/// Most bytes of a push block: the first 16 of the 128 bytes say where operands begin.
constexpr size_t kMostPushBytes = kPushBytes - 16;

/// How to make the error of a check in a shader from what the shader found.
struct ShaderFault {
  Fault (*make)(const ShaderFault& fault, int64_t position, int64_t value);
  Word what;  ///< the operator or function that checks
  int64_t low = 0, high = 0;
};

/// What the shaders of a session have found (error.glsl). All bits are one before a run.
struct ErrorBlock {
  static constexpr uint32_t kNoError = UINT32_MAX;
  static constexpr uint32_t kSlots = 16;

  uint32_t code;  ///< the least of those that failed
  /// The slot of a code (code % kSlots): the first wrong position, and the value there.
  struct Slot {
    uint32_t position, value_low, value_high;
  };
  Slot slots[kSlots];
};

/// The commands of a segment, in the order in which they are recorded. A command sees what earlier
/// ones wrote: barriers are set where ranges overlap.
class Recorder {
 public:
  Recorder(const VulkanDevice& device, VulkanPipelines* pipelines, VulkanMemory* memory,
           const Allocator& allocator)
      : device_(device),
        pipelines_(*pipelines),
        memory_(*memory),
        commands_(allocator),
        ranges_(allocator),
        failures_(allocator) {}

  const VulkanLimits& limits() const { return device_.limits(); }

  /// Runs `shader` in this many workgroups; does nothing if one of the numbers is 0. `operands`
  /// become bindings 0, 1, ...; they begin at multiples of 4 bytes, and the last word of each is
  /// whole. `push` is copied behind our own 16 bytes. REQUIRES: at most kMostConstants,
  /// kMostOperands and kMostPushBytes.
  Fault dispatch(const Shader& shader, Span<const uint32_t> constants,
                 Span<const VulkanOperand> operands, const void* push, size_t push_bytes,
                 VulkanGroups groups);
  template <class Push>
  Fault dispatch(const Shader& shader, Span<const uint32_t> constants,
                 Span<const VulkanOperand> operands, const Push& push, VulkanGroups groups) {
    static_assert(std::is_trivially_copyable_v<Push> && sizeof(Push) <= kMostPushBytes);
    return dispatch(shader, constants, operands, &push, sizeof(Push), groups);
  }
  /// Copies bytes, rounded up to whole words. The ranges do not overlap, unless they are the same:
  /// then nothing is done.
  Fault copy(const void* to, const void* from, uint64_t bytes);

  /// Returns workgroups of kLinearGroup for this many invocations, in two dimensions if one is too
  /// short.
  VulkanGroups linear(uint64_t invocations) const;

  /// The binding of the ErrorBlock, for shaders that include error.glsl.
  VulkanOperand error_word() const { return updates(error_word_, sizeof(ErrorBlock)); }
  /// The number to push so that fail() in the shader ends the run with this error of this node.
  /// REQUIRES: the next dispatch is the shader's, and it is the node's only one that may fail.
  Fault failure(const ShaderFault& fault, uint32_t* code);

  // For segments.

  struct Failure {
    uint32_t code;
    ShaderFault fault;
    size_t node;
    const char* op;
  };

  void begin(const void* error_word);
  /// Whether the other recorder has the same commands on the same places.
  bool is_same_as(const Recorder& other) const;
  void swap_commands(Recorder& other);
  /// Assigns what is recorded from now on to this node.
  void begin_node(size_t node, const char* op);
  size_t dispatches() const { return dispatches_; }
  bool has_commands() const { return !commands_.empty(); }
  /// A place in the recorded commands.
  struct Mark {
    size_t commands = 0, nodes = 0, dispatches = 0;
  };
  Mark mark() const { return {commands_.size(), nodes_, dispatches_}; }
  /// Writes the commands between two marks into `buffer`, which has begun, with descriptor sets of
  /// `pool`. They see what all earlier work of the queue wrote. If there is `times`, the buffer
  /// also writes the time when it begins and when each node ends.
  Fault emit(const Mark& from, const Mark& to, VkCommandBuffer buffer, VkDescriptorPool pool,
             VkQueryPool times) const;
  const Failure* find_failure(uint32_t code) const;

 private:
  struct Range {
    VulkanPlace place;
    uint64_t begin, end;  ///< addresses of what is bound
    bool is_read, is_written;
  };
  struct Command {
    VkPipeline pipeline;  ///< VK_NULL_HANDLE: a copy from range 0 to range 1
    uint32_t first_range, range_count;
    uint32_t push[kPushBytes / 4];
    uint32_t push_bytes;
    uint32_t node;  ///< among those begun
    VulkanGroups groups;
    bool waits;  ///< a barrier stands before it
  };
  Fault add(Command command, Span<const VulkanOperand> operands);
  bool must_wait(size_t first_range);
  bool is_touched(size_t first_range) const;
  void emit_copy(const Command& command, VkCommandBuffer buffer) const;
  Fault emit_dispatch(const Command& command, VkCommandBuffer buffer, VkDescriptorPool pool) const;

  const VulkanDevice& device_;
  VulkanPipelines& pipelines_;
  VulkanMemory& memory_;
  List<Command> commands_;
  List<Range> ranges_;
  List<Failure> failures_;
  size_t since_barrier_ = 0;  ///< the first range after the last barrier
  size_t dispatches_ = 0, nodes_ = 0;
  const void* error_word_ = nullptr;
  size_t node_ = 0;
  const char* op_ = "";
  uint32_t may_fail_ = 0;  ///< codes given out since the last barrier
};

/// Returns the recorder to use in `run` of a kernel for Vulkan; `context.inputs` and `outputs` hold
/// addresses of the device.
inline Recorder& recorder_of(const RunContext& context) {
  return *static_cast<Recorder*>(context.backend);
}

/// A barrier between all earlier and all later work in the queue.
void full_barrier(const VulkanApi& api, VkCommandBuffer buffer);
/// Makes earlier writes readable for the host once the work has ended.
void barrier_to_host(const VulkanApi& api, VkCommandBuffer buffer);

}  // namespace lazyrt
