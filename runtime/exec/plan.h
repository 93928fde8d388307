#pragma once

#include "runtime/bundle/program_state.h"
#include "runtime/core/array.h"
#include "runtime/exec/services.h"

namespace lazyrt {

/// A node with the kernel that runs it.
struct PlannedNode {
  const OpEntry* op = nullptr;
  const Kernel* kernel = nullptr;  ///< nullptr: not planned yet
  const Backend* backend = nullptr;
  void* services = nullptr;
  OpAttrs attrs;  ///< in the plan's memory
  PreparedKernel prepared;
  char* fallback_reason = nullptr;  ///< owned by the plan; nullptr: the session's own backend
  uint32_t first_operand = 0;       ///< inputs, then outputs, in Plan::operands
  uint32_t input_count = 0;
  uint32_t output_count = 0;
};

/// The kernels of a method, chosen and prepared for one session. Made of the bundle's metadata, and
/// independent of it from then on.
class Plan {
 public:
  Plan() = default;
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  ~Plan() { clear(); }

  /// For each node asks `backend` and its fallbacks for a kernel and prepares it. An error names
  /// the node. REQUIRES: empty; the program's constants, backend, memory and services outlive the
  /// plan.
  Status make(const ProgramState& program, const fb::Method& method, const Backend& backend,
              CountedMemory* memory, BackendServices* services);
  void clear();
  /// Reasons of fallbacks that are the same here and there keep their place: `other` gets this
  /// plan's. REQUIRES: both are of the same nodes.
  void keep_reasons_of(Plan* other);

  Span<const PlannedNode> nodes() const { return {nodes_.data(), nodes_.size()}; }
  /// Value ids of all nodes' inputs and outputs, -1 = absent.
  Span<const int32_t> operands() const { return {operands_.data(), operands_.size()}; }
  /// Largest workspace of a node.
  uint64_t workspace_bytes() const { return workspace_bytes_; }
  uint64_t packed_weight_bytes() const { return packed_weight_bytes_; }
  /// Of its tables.
  uint64_t bytes() const { return nodes_.bytes() + operands_.bytes() + attributes_.bytes(); }

 private:
  Status list_operands(const fb::Method& method);
  Status copy_attributes(const fb::Method& method);
  NodeSpec fill_specs(const ProgramState& program, const fb::Method& method,
                      const PlannedNode& node);
  Status plan_node(const NodeSpec& spec, const Backend& backend, BackendServices* services,
                   PlannedNode* node);
  Status prepare(const Kernel& kernel, const Backend& backend, const PrepareContext& context,
                 int threads, PreparedKernel* prepared);
  Status try_backend(const Backend& backend, const NodeSpec& spec, BackendServices* services,
                     PlannedNode* node);
  Status keep_reason(const Status& why, PlannedNode* node);
  void drop_packed_pages(const ProgramState& program, const NodeSpec& spec,
                         const PlannedNode& node) const;

  CountedMemory* memory_ = nullptr;
  Allocator allocator_;
  Array<PlannedNode> nodes_;
  Array<int32_t> operands_;
  Array<uint8_t> attributes_;  ///< of all nodes
  Array<TensorSpec> specs_;    ///< of one node's operands; only while the plan is made
  uint64_t workspace_bytes_ = 0;
  uint64_t packed_weight_bytes_ = 0;
};

}  // namespace lazyrt
