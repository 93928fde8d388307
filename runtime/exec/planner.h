#pragma once

#include "runtime/core/run_stop.h"
#include "runtime/exec/plan.h"

namespace lazyrt {

/// Makes a Plan: asks the backends for each node, prepares kernels, compiles segments, and lists
/// the steps.
class Planner {
 public:
  /// `pool`: memory for the plan. REQUIRES: `plan` is empty; the program's constants and operators,
  /// `backend`, `memory`, `services` and `pool` outlive it.
  Planner(const ProgramState& program, const fb::Method& method, const Backend& backend,
          CountedMemory* memory, BackendServices* services, Pool* pool, Plan* plan);

  /// Makes segments end behind these nodes (a truth value for each; empty: none). REQUIRES: called
  /// before choose_all; `nodes` outlives this.
  void end_segments_behind(Span<const bool> nodes) { last_of_segments_ = nodes; }
  /// Chooses what runs each node, and prepares it. Called once. An error names the node;
  /// kCancelled, kDeadlineExceeded: `stop` is due.
  Fault choose_all(const RunStop& stop);
  /// Lists the steps. `homes`: per state of the method, the space that it lives in. `late`: guards
  /// on values of devices are checked only when everything has run. REQUIRES: choose_all() was
  /// called for the plan, by this planner or another one.
  Fault list_steps(Span<const uint8_t> homes, bool late);

 private:
  Fault list_operands();
  Fault copy_attributes();
  NodeSpec fill_specs(const PlannedNode& node, TensorSpec* specs) const;

  Fault choose(size_t index, const Backend* from, Fault refusal);
  Fault try_backend(const Backend& backend, const NodeSpec& spec, PlannedNode* node);
  Fault try_kernel(const Backend& backend, const NodeSpec& spec, PlannedNode* node);
  void finish(size_t index, const NodeSpec& spec);
  void add_needs(const PlannedNode& node);
  void drop_packed_pages(const NodeSpec& spec) const;

  Fault compile_segments(const RunStop& stop);
  size_t segment_length(size_t first) const;
  Fault compile(size_t first, size_t count, size_t* refused);
  void keep_segment(size_t first, Span<const SegmentNode> nodes, const PreparedKernel& prepared);
  Fault find_last_readers();
  void read_behind(int32_t value) { last_readers_[static_cast<size_t>(value)] = UINT32_MAX; }
  Span<const int32_t> list_leaving(size_t first, size_t count);
  Fault move_on(size_t first, size_t count, Fault refusal);
  bool ends_segment(size_t node) const;
  bool is_guarded(int32_t value) const {
    return !guarded_.empty() && guarded_[static_cast<size_t>(value)];
  }

  Fault find_guarded();
  void begin_places(Span<const uint8_t> homes, Span<ValuePlaces> places) const;
  void place(Span<const uint8_t> homes, bool late, Placement* placement) const;
  bool can_keep_states(Span<const uint8_t> homes, bool late) const;
  void place_states(Span<const uint8_t> homes, Placement* placement) const;
  void place_guarded(const PlannedNode& node, bool late, Placement* placement) const;
  uint32_t place_nodes(size_t first, Placement* placement) const;

  Span<const int32_t> inputs_of(const PlannedNode& node) const {
    return plan_.operands().subspan(node.first_operand, node.input_count);
  }
  Span<const int32_t> outputs_of(const PlannedNode& node) const {
    return plan_.operands().subspan(node.first_operand + node.input_count, node.output_count);
  }
  NodePlace place_of(size_t index) const { return node_place(method_, index, *program_.ops); }

  const ProgramState& program_;
  const fb::Method& method_;
  const Backend& backend_;
  CountedMemory* const memory_;
  BackendServices* const services_;
  const Allocator allocator_;
  Pool* const pool_;
  Plan& plan_;
  Pool scratch_;            ///< for the following, and what is looked at once
  Span<TensorSpec> specs_;  ///< of one node's operands
  Span<bool> guarded_;      ///< per value; empty without guards
  Span<const bool> last_of_segments_;
  /// Per value: the last node that reads it; UINT32_MAX: something behind all nodes. Empty: no
  /// device takes a node.
  Span<uint32_t> last_readers_;
};

}  // namespace lazyrt
