#pragma once

#include "runtime/bundle/program_state.h"
#include "runtime/core/pool.h"
#include "runtime/core/profile.h"
#include "runtime/exec/placement.h"
#include "runtime/exec/services.h"

namespace lazyrt {

constexpr int kDeviceSlots = kDevices ? BackendServices::kMaxBackends : 0;
constexpr int kMostSpaces = 1 + kDeviceSlots;
static_assert(kMostSpaces <= 8, "Placement has a bit of a byte for each");

/// A node with what runs it.
struct PlannedNode {
  const OpEntry* op = nullptr;
  const Kernel* kernel = nullptr;  ///< nullptr: not planned yet, or a device's
  const Backend* backend = nullptr;
  void* services = nullptr;
  OpAttrs attrs;                          ///< in the plan's memory; in the bundle if no sizes vary
  PreparedKernel prepared;                ///< of a segment: at its first node
  const char* fallback_reason = nullptr;  ///< the Program's; nullptr: the session's own backend
  uint32_t first_operand = 0;             ///< inputs, then outputs, in Plan::operands
  uint32_t input_count = 0;
  uint32_t output_count = 0;
  uint32_t segment_nodes = 0;  ///< at the first node of a segment: how many it has
  uint8_t space = kHostSpace;

  /// Behind its last one.
  size_t operands_end() const { return size_t{first_operand} + input_count + output_count; }
};

/// What runs a method, chosen and prepared for one session: its nodes, and the steps of a run.
/// Planner makes it from the bundle's metadata; afterwards it does not depend on them.
class Plan {
 public:
  Plan() = default;
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  ~Plan();

  Span<const PlannedNode> nodes() const { return nodes_; }
  /// Value ids of all nodes' inputs and outputs, -1 = absent.
  Span<const int32_t> operands() const { return operands_; }
  Span<const PlannedStep> steps() const { return steps_; }
  /// Nodes and copies.
  size_t line_count() const { return lines_; }
  size_t copy_count() const { return lines_ - nodes_.size(); }
  /// Segments and copies.
  size_t device_step_count() const { return device_steps_; }
  /// Whether steps copy states to their places: each state in a device's space then has its next
  /// value once the run has succeeded.
  bool keeps_states() const { return keeps_states_; }
  /// Whether the host reads or writes states, wherever they live.
  bool copies_states() const { return copies_states_; }
  /// Whether something runs in this space.
  bool uses(int space) const { return (used_ >> space & 1) != 0; }
  /// Largest workspace of a node or segment there.
  uint64_t workspace_bytes(int space = kHostSpace) const { return workspace_bytes_[space]; }
  uint64_t packed_weight_bytes() const { return packed_weight_bytes_; }

 private:
  friend class Planner;

  Allocator allocator_;
  // In the session's pool.
  Span<PlannedNode> nodes_;
  Span<int32_t> operands_;
  Span<PlannedStep> steps_;
  size_t lines_ = 0;
  size_t device_steps_ = 0;
  bool keeps_states_ = false;
  bool copies_states_ = false;
  uint32_t used_ = 1U << kHostSpace;
  uint64_t workspace_bytes_[kMostSpaces] = {};
  uint64_t packed_weight_bytes_ = 0;
};

}  // namespace lazyrt
