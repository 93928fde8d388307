#pragma once

#include "runtime/backend/device.h"
#include "runtime/backends/vulkan/session.h"

namespace lazyrt {

/// Consecutive nodes of a segment whose commands are submitted together.
struct VulkanPart {
  size_t nodes;
  Work work;
  size_t dispatches;
  bool has_work;  ///< false: there is nothing to submit
  Recording recording;
};

/// A run of nodes and their commands.
class VulkanSegment {
 public:
  VulkanSegment(VulkanSession* session, const Allocator& allocator);
  VulkanSegment(const VulkanSegment&) = delete;
  VulkanSegment& operator=(const VulkanSegment&) = delete;
  ~VulkanSegment();

  /// REQUIRES: called once, before the other functions. *prepared gets what the nodes need. If it
  /// refuses a node, *refused is the node's place in the spec.
  Fault compile(const SegmentSpec& spec, PreparedKernel* prepared, size_t* refused);
  /// Records the commands again. REQUIRES: none of them is queued or runs.
  Fault bind(Span<const TensorView> operands, void* workspace);

  Fault submit() { return session_.submit(this); }
  bool has_work() const { return recorder_.has_commands(); }
  const List<VulkanPart>& parts() const { return parts_; }
  /// As Device::times. REQUIRES: the session is timed.
  Fault times(Span<uint64_t> nanoseconds) const;
  const Recorder::Failure* find_failure(uint32_t code) const {
    return recorder_.find_failure(code);
  }

 private:
  struct Node {
    size_t index;
    const OpEntry* op;
    const Kernel* kernel;
    OpAttrs attrs;
    void* state;
    size_t inputs, outputs;
  };
  /// A constant operand of the segment, and where it lies.
  struct Constant {
    size_t operand;
    const void* address;
  };
  Fault compile_node(const SegmentNode& node, const Allocator& allocator, PreparedKernel* prepared);
  Fault add_to_parts(const SegmentNode& node);
  Fault copy_constants(const SegmentNode& node, uint32_t packed);
  Fault list_operands(Span<const TensorView> operands);
  Fault record(const Node& node, void* workspace, Span<const TensorView>* operands);
  Fault times_of(const VulkanPart& part, Span<uint64_t> nanoseconds) const;

  VulkanSession& session_;
  const VulkanApi& api_;
  const Allocator allocator_;
  List<Node> nodes_;
  List<Constant> constants_;  ///< by operand
  List<TensorView> operands_;
  List<VulkanPart> parts_;
  Recorder recorder_;
  size_t operand_count_ = 0;
};

}  // namespace lazyrt
