#pragma once

// The part of a session that is bound to the sizes of its inputs: its variants and the memory that
// they share. Internal to runtime/exec.

#include <array>

#include "runtime/bundle/bound_program.h"
#include "runtime/core/run_stop.h"
#include "runtime/exec/block.h"
#include "runtime/exec/output_bindings.h"
#include "runtime/exec/reservation.h"
#include "runtime/exec/session_variant.h"
#include "runtime/exec/state_memory.h"

namespace lazyrt {

/// The parts of a session that do not depend on sizes. All of them outlive what is bound.
struct SessionBase {
  const ProgramState& program;
  size_t method;  ///< its number in the program
  const SessionOptions& options;
  CountedMemory* memory;
  BackendServices* services;
  StateMemory* states;
  OutputBindings* outputs;
  DeviceBlock* blocks;  ///< per slot: the largest block that any sizes so far needed in its space
  const Reservation* reservation;  ///< nullptr: each size has memory of its own
  const RunStop* stop;             ///< stops the run or bind_shapes that makes it
};

/// "output 'y' takes 24 bytes (f32[2,3]), 20 are writable"
Fault wrong_output_size(const fb::Method& method, size_t i, const TensorView& output,
                        size_t writable);

/// The parts of a BoundSession. A struct of its own, so that they all begin as zeros at once.
struct BoundParts {
  struct InputSlot {
    uint8_t* copy = nullptr;  ///< the session's own place for it
    uint64_t room = 0;        ///< of copy: the most bytes that a variant's input takes
    Shape shape;              ///< of what is set
    size_t bytes = 0;
    bool set = false;
    const void* bound = nullptr;  ///< the caller's memory; nullptr: the copy
    size_t readable = 0;          ///< bytes at bound
    bool copy_at_run = false;     ///< bound, but copied because it cannot be used in place
    /// Bound to memory that an output is written to, so it is read before the first node runs.
    bool is_overwritten = false;
    bool reads_state = false;  ///< bound to memory of a state
    /// Of bound memory that is an input's copy: read into here before any copy is written.
    uint8_t* stage = nullptr;  ///< room_of(room) bytes, once they were needed
    bool is_staged = false;
  };

  Span<uint32_t> in_file_;  ///< the numbers of these variants in the method, ascending
  SessionVariant* variants_ = nullptr;
  size_t variant_count_ = 0;
  uint64_t arena_bytes_ = 0;
  uint64_t input_bytes_ = 0;
  Block own_arena_;  ///< used if the reservation is missing or too small; the other two likewise
  Block own_workspace_;
  Block own_inputs_;
  Room arena_;
  Room workspace_;
  std::array<DeviceMemory, kDeviceSlots> devices_;  ///< per slot; made where it is used
  /// The space that has the host's arena, because all nodes run there. kHostSpace: none.
  uint8_t mapped_ = kHostSpace;
  bool has_homes_ = false;  ///< a state lives in a space of a device
  Span<uint8_t> homes_;     ///< per state: the space that it lives in
  /// With several variants: keeps inputs when the next one is tried. Also holds reserved inputs.
  Room input_room_;
  Span<InputSlot> inputs_;
  Span<uint32_t> by_address_;  ///< the inputs in the order of their copies
  /// The begins and the ends of the input memory that each run copies, each list in order of
  /// addresses.
  Span<uintptr_t> begins_, ends_;
  size_t copied_count_ = 0;  ///< of begins_ and ends_, in use
  /// Per variant and output: it is bound, and nodes write its memory directly.
  Span<bool> in_place_;
  Span<void*> results_;  ///< per output: where the last run left it
  /// The version of the outputs' bindings that in_place_ was made for.
  uint64_t settled_version_ = 0;
  bool inputs_moved_ = false;       ///< an input was bound or set anew since then
  uint64_t output_copy_bytes_ = 0;  ///< atomic; of the last run
  /// Index in variants_ of the variant that gave the last result; -1: there is none.
  int32_t ran_ = -1;
};

class BoundSession : private BoundParts {
 public:
  explicit BoundSession(const SessionBase& base)
      : BoundParts(), base_(base), allocator_(base.memory->allocator()), pool_(allocator_) {}
  BoundSession(const BoundSession&) = delete;
  BoundSession& operator=(const BoundSession&) = delete;
  ~BoundSession();

  /// Makes kernels, arena, workspace and, if they do not exist yet, the states, for the variants
  /// that take these sizes. `symbols`: a value for each symbol of the method. REQUIRES: called
  /// once, before anything else; some variant takes the sizes.
  Fault make(Span<const int64_t> symbols);

  /// `shape` may be nullptr: then the shape is the one that has this many bytes.
  Fault set_input(size_t i, const Shape* shape, const void* data, size_t bytes);
  /// Checks that dtype and shape of the tensor are those of some variant's input.
  Fault check_input(size_t i, const TensorView& tensor) const;
  Fault bind_input(size_t i, const TensorView& tensor, size_t readable);
  size_t input_count() const { return inputs_.size(); }
  bool is_set(size_t i) const { return inputs_[i].set; }
  bool is_bound(size_t i) const { return inputs_[i].bound != nullptr; }
  /// Input i as the first variant reads it; in a method with symbols all variants read it so.
  decltype(auto) input(size_t i) const { return variants_[0].input(i); }
  /// kFailedPrecondition if an input is bound to memory that is released with this session; names
  /// the input.
  Fault check_movable() const;
  /// Gives input i the content or the binding that it has in `other`. REQUIRES: the same shape in
  /// both.
  Fault take_input(size_t i, const BoundSession& other);
  /// Hands the memory in devices' spaces on to what is bound next. REQUIRES: nothing else uses it.
  void give_blocks() {
    for (int slot = 0; slot < kDeviceSlots; ++slot) devices_[slot].give_block(&base_.blocks[slot]);
  }
  /// Whether both keep copies of inputs in the same memory, at different places.
  bool shares_arena(const BoundSession& other) const {
    return mapped_ != kHostSpace && arena_.data == other.arena_.data;
  }
  /// Where input i was set.
  void* copy_of(size_t i) const { return inputs_[i].copy; }
  /// Whether the bytes lie in the memory of this bound session, states excluded.
  bool is_bound_memory(const void* data, size_t bytes) const;
  /// Whether they lie in that memory, in the states, or in memory in devices' spaces.
  bool is_own_memory(const void* data, size_t bytes, int space) const;
  /// Whether some variant's output i has no more than this many bytes; else *least is the smallest
  /// output.
  bool takes_output(size_t i, size_t writable, TensorView* least) const;

  Fault run(const RunStop& stop);
  /// The last run's result is none.
  void forget_result() { ran_ = -1; }
  Result<TensorView> output(size_t i) const;
  Result<size_t> variant() const;

  /// What a reservation has to hold.
  struct Needs {
    uint64_t arena = 0;
    uint64_t workspace = 0;
  };
  /// Those of these sizes.
  void add_needs(Needs* needs) const {
    needs->arena = arena_bytes_ > needs->arena ? arena_bytes_ : needs->arena;
    const uint64_t workspace = workspace_of(kHostSpace);
    needs->workspace = workspace > needs->workspace ? workspace : needs->workspace;
  }

  /// Adds all counts but total_bytes. This and the following may be called from other threads
  /// during a run.
  void add_stats(SessionStats* stats) const;
  size_t node_count() const;
  /// kInvalidArgument: there is no node i.
  Fault find_node(size_t i, NodeInfo* info) const;
  uint64_t guard_refusals(size_t guard, size_t variant) const;
  /// Continues with the counts of `other`, a session bound to other sizes, for variants that both
  /// have.
  void continue_from(const BoundSession& other);

 private:
  Fault find_variants(Span<const int64_t> symbols);
  bool is_as_in_file(Span<const int64_t> symbols) const;
  const fb::Method& variant_in(const ProgramState& program, size_t v) const {
    return program.variant(base_.method, in_file_[v]);
  }
  size_t place_of(size_t variant) const;
  /// Builds everything from `program`; it may be freed afterwards.
  Fault make_of(const ProgramState& program);
  Fault make_variants(const ProgramState& program);
  Fault make_memory();
  Fault find_homes(const ProgramState& program);
  Fault list_steps(const ProgramState& program);
  Fault make_device_memory();
  bool can_map(int space) const;
  bool needs_states_on_host() const;
  uint64_t workspace_of(int space) const;
  SharedMemory shared_memory() const;
  Fault make_inputs();
  /// Finds the sizes that the bundle states, before anything is made.
  Fault find_sizes(const ProgramState& program);
  Fault check_memory_limit() const;
  uint64_t input_block_bytes(const ProgramState& program);

  /// As in the file, for texts.
  const fb::Method& method() const { return base_.program.method(base_.method); }
  Fault check_ran() const;
  Fault no_input(size_t i) const;
  Fault wrong_input(size_t i, const char* given) const;
  Fault find_shape(size_t i, size_t bytes, Shape* shape) const;
  bool is_an_input_copy(const void* data, size_t bytes) const;
  Fault make_stage(InputSlot* slot);
  Fault prepare_inputs();
  bool fits(const SessionVariant& variant, size_t* wrong) const;
  void point_inputs(SessionVariant* variant);
  void list_copied();
  bool is_read_back(const void* data, size_t bytes) const;
  void settle_outputs();
  Fault check_output_sizes(const SessionVariant& variant) const;
  Fault keep_results(const SessionVariant& variant);
  Fault end_in_spaces(const SessionVariant& variant, uint32_t spaces, const Fault& status);
  Fault copy_outputs(const SessionVariant& variant, uint32_t* spaces);
  Fault copy_output(const TensorView& view, const OutputBinding& to, uint32_t* spaces);
  Fault run_variant(size_t v, const RunStop& stop);
  Fault try_variant(size_t v, const RunStop& stop);
  Fault why_none_ran() const;
  Fault bring_states_for_inputs();
  Fault bring_states();
  template <class Keep>
  Fault for_each_next(const SessionVariant& variant, bool on_host, const Keep& keep);
  Fault keep_states_in_spaces(const SessionVariant& variant, uint32_t* spaces);
  Fault wait_for(uint32_t spaces) const;

  const SessionBase base_;
  const Allocator allocator_;
  Pool pool_;  ///< for what this and its variants keep
};

}  // namespace lazyrt
