#pragma once

#include "runtime/core/run_stop.h"
#include "runtime/exec/guards.h"
#include "runtime/exec/planner.h"
#include "runtime/exec/shared_memory.h"
#include "runtime/exec/watcher.h"

namespace lazyrt {

/// What a run needs of a step: a kernel with its operands, or the step of a device.
struct Step {
  Fault (*run)(void* state, const RunContext& context) = nullptr;
  void* state = nullptr;
  int32_t after = -1;  ///< the last node whose guards are checked before this step
  RunContext context;
};

/// The state of a step that is a device's.
struct DeviceStep {
  const Device* device = nullptr;
  void* services = nullptr;
  void* segment = nullptr;    ///< nullptr: a copy
  void* workspace = nullptr;  ///< of the segment
  size_t failed = 0;          ///< of a wait that failed: Device::wait's node
  bool is_bound = false;      ///< the last bind of the segment succeeded
  /// Of a copy: where the host has the place in the space; nullptr: nowhere.
  uint8_t* mapped = nullptr;
  /// Atomic. 1: the copy is not needed, because its output is bound there or both places are one.
  uint64_t skipped = 0;
};

/// Memory that lies in the arena or is the caller's: that of an input, or of a node's result that
/// is an output. Values that share this memory move with it.
struct Movable {
  uint8_t* host = nullptr;
  uint8_t* there = nullptr;  ///< in `space`, if that is not the host's: elsewhere than in its arena
  uint64_t offset = 0;       ///< in arenas
  uint32_t bound_value = UINT32_MAX;  ///< the bound value, if only one output uses it
  uint8_t space = kHostSpace;
  bool is_bound = false;  ///< of an output: the caller's
};

/// One of a method's programs, made ready to run in a session's memory. Neither a run nor its
/// results read the bundle's metadata; only messages and NodeInfo take their texts from it.
class Variant {
 public:
  Variant() = default;
  Variant(const Variant&) = delete;
  Variant& operator=(const Variant&) = delete;

  /// Chooses and prepares the kernels, and tells `options.watch` of what this does. `number`: this
  /// variant's in the method; `texts`: the method of the file that `method` was made of, or is.
  /// `is_only`: there is no other to try where a guard does not hold, so those that ask for values
  /// of devices need not be judged before what follows. `pool`: for all that it keeps. REQUIRES:
  /// called once, first; all but `program` and `method` outlive this, and the program's constants
  /// and operators do.
  Fault make_plan(const ProgramState& program, size_t number, bool is_only,
                  const fb::Method& method, const fb::Method& texts, const SessionOptions& options,
                  CountedMemory* memory, BackendServices* services, const RunStop& stop,
                  Pool* pool);
  /// Removes from `homes` (one entry per state) the spaces where the state cannot live for this
  /// program. Besides the host's, only the space stays where all its readers are and where it is
  /// made. REQUIRES: after make_plan, with the same method.
  Fault narrow_homes(const fb::Method& method, Span<StateHome> homes) const;
  /// Lists the steps. `homes`: per state the space that it lives in. REQUIRES: called once, after
  /// make_plan, with the same arguments.
  Fault make_steps_list(const ProgramState& program, const fb::Method& method,
                        const SessionOptions& options, CountedMemory* memory,
                        Span<const uint8_t> homes);
  /// Gives every value its memory. REQUIRES: called once, after that, with the same method.
  Fault make_values(const fb::Method& method, const SharedMemory& memory, bool profile);

  uint64_t workspace_bytes(int space = kHostSpace) const { return plan_.workspace_bytes(space); }
  uint64_t packed_weight_bytes() const { return plan_.packed_weight_bytes(); }
  /// Whether something runs in this space.
  bool uses(int space) const { return plan_.uses(space); }
  /// Whether all nodes do.
  bool runs_only_in(int space) const;
  /// Nodes, and copies between spaces.
  size_t line_count() const { return plan_.line_count(); }
  size_t guard_count() const { return guards_.count(); }
  size_t output_count() const { return outputs_.size(); }

  /// dtype and shape of input i, with data where the next run reads it: at first its place in the
  /// arena.
  const TensorView& input(size_t i) const { return values_[inputs_[i]]; }
  /// Makes the next runs read input i (and views of it) from here.
  void point_input(size_t i, void* data) {
    if (movables_[i].host == data) return;
    movables_[i].host = static_cast<uint8_t*>(data);
    stale_ = true;
  }

  /// Makes runs write all outputs to the arena again.
  void release_outputs();
  /// Makes the next runs write output i here, in the memory of `space`, without a copy. False: they
  /// cannot, since the output is made elsewhere, or shares its memory with an input, a constant or
  /// an output that was bound before. REQUIRES: data is aligned and has a tail.
  bool bind_output(size_t i, void* data, int space);
  /// Returns where an unbound output lies on the host; nullptr if no node makes it.
  const uint8_t* home_of_output(size_t i) const;

  /// Runs the nodes and checks the guards, until `stop` is due. Writes the arena, never states.
  Fault run(const RunStop& stop);
  /// Whether the last run failed because of a guard: its status has no details then, but guards()
  /// has.
  bool broke_guard() const { return broke_guard_; }
  const Guards& guards() const { return guards_; }
  /// Why the last run broke a guard.
  Fault why_broken() const { return guards_.why(*texts_); }

  /// Output i on the host, unless it is bound to the memory of another space.
  const TensorView& output(size_t i) const { return values_[outputs_[i].value]; }
  /// What state k becomes, in the space where it lives. REQUIRES: run() was ok.
  TensorView next_of_state(size_t k) const;
  /// Whether runs themselves write the next contents of states that live in devices' spaces.
  bool keeps_states() const { return plan_.keeps_states(); }
  /// Whether the host needs a place for states that live elsewhere, too.
  bool copies_states() const { return plan_.copies_states(); }

  /// Describes line i: a node, or a copy between spaces. May be called while another thread runs.
  NodeInfo line(size_t i) const;
  /// Continues with the counts of `other`, the same program bound to other sizes.
  void continue_from(const Variant& other);
  uint64_t guard_refusals(size_t guard) const { return guards_.refusals(guard); }

 private:
  /// Atomic each: written by the thread that runs, read by any.
  struct NodeTime {
    uint64_t nanoseconds = 0;
    uint64_t runs = 0;
  };

  /// An output, and who makes it where.
  struct Output {
    uint32_t value = 0;
    int32_t movable = -1;          ///< -1: it cannot be elsewhere
    uint8_t made_in = kHostSpace;  ///< the space
    bool is_only = true;           ///< no other output is this value
  };

  struct NextOfState {
    uint32_t value = 0;
    uint8_t space = kHostSpace;  ///< where the state lives
    uint8_t* there = nullptr;    ///< the value in that space, if it is not bound elsewhere
  };

  Fault list_interface(const fb::Method& method);
  Fault find_movables(const fb::Method& method);
  Fault find_makers();
  void place_values(const fb::Method& method, const SharedMemory& memory);
  TensorView view_in(int32_t id, int space, const fb::Method& method,
                     const SharedMemory& memory) const;
  void place_operands(const fb::Method& method, const SharedMemory& memory);
  Fault make_steps(const fb::Method& method, const SharedMemory& memory);
  void make_node_step(const PlannedNode& node, void* workspace, Step* step) const;
  Fault make_segment_step(uint32_t first, DeviceStep* device, Step* step) const;
  Fault bind_segment(uint32_t first, DeviceStep* step) const;
  Fault make_guards(const fb::Method& method, bool is_only);
  void make_device_step(const PlannedStep& planned, const fb::Method& method,
                        const SharedMemory& memory, TensorView* operands, Step* step);
  void make_copy_step(const PlannedStep& planned, TensorView host, TensorView there,
                      TensorView* operands, Step* step) const;
  Fault refresh_operands();
  Fault refresh_step(size_t index);
  void refresh_node(const PlannedNode& node, RunContext* context);
  Fault refresh_segment(const PlannedStep& planned, DeviceStep* step);
  void refresh_copy(const PlannedStep& planned, Step* step);
  bool is_only_bound_there(const PlannedStep& copy) const;
  void point_state_copy(uint32_t state, const Step& step) const;
  void settle_copy(const PlannedStep& planned, const Step& step) const;
  uint8_t* place_in(int32_t id, uint8_t space, void* fixed) const;
  Fault run_steps(const RunStop& stop);
  Fault run_step(size_t index);
  Fault run_timed(size_t index);
  bool measures_nodes(size_t index) const;
  Fault add_node_times(size_t index);
  Fault take_taps(size_t index) const;
  void tell_span(size_t index, uint64_t begin, uint64_t end, bool ok) const;
  size_t nodes_of(const PlannedStep& step) const;
  NodeInfo line_of(size_t step, size_t line) const;
  void note_failure(size_t step, bool is_stop);
  Fault end_run(const Fault& status);
  void wait_for_devices(FirstFault* first);
  Fault broken_guard();
  Fault with_place(size_t step, const Fault& status) const;
  void describe_node(size_t node, NodeInfo* info) const;
  void describe_copy(const PlannedStep& step, bool is_skipped, NodeInfo* info) const;

  const fb::Method* texts_ = nullptr;
  const OpTable* ops_ = nullptr;
  Pool* pool_ = nullptr;
  Plan plan_;
  Guards guards_;
  bool broke_guard_ = false;
  size_t last_stop_ = SIZE_MAX;  ///< the last step before which a run may be stopped
  /// The nodes before this one have run: guards read their values.
  size_t reached_ = SIZE_MAX;
  const BackendServices* services_ = nullptr;
  Span<Step> steps_;                  ///< per step of the plan
  Span<DeviceStep> device_steps_;     ///< the steps that are not a node with a kernel, in order
  Span<TensorView> values_;           ///< per value id
  Span<uint32_t> inputs_;             ///< per input: its value's id
  Span<Output> outputs_;              ///< per output
  Span<NextOfState> next_of_states_;  ///< per state
  Span<Movable> movables_;            ///< per input, then those of outputs
  Span<int32_t> movable_of_;          ///< per value id: whose memory it is in, or -1
  uint8_t* arenas_[kMostSpaces] = {};
  uint64_t arena_bytes_ = 0;
  uint8_t mapped_ = kHostSpace;  ///< the space whose arena is the host's
  Span<TensorView> operands_;    ///< per entry of plan_.operands(), then two for each copy
  Span<NodeTime> times_;         ///< per step; empty unless profiling
  /// Per node, as its device measured them; empty unless a device is profiled.
  Span<uint64_t> node_times_;
  Span<uint64_t> last_times_;  ///< of the last run of each
  /// Per value, for guards that are checked late; empty: there are none.
  Span<uint64_t> snapshots_;
  Watcher watcher_;     ///< inactive for most sessions
  bool stale_ = false;  ///< operands_ must be refreshed before the next run
};

}  // namespace lazyrt
