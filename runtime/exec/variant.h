#pragma once

#include "runtime/exec/guards.h"
#include "runtime/exec/plan.h"
#include "runtime/exec/run_stop.h"

namespace lazyrt {

inline Status no_memory_for_session() {
  return Status(Error::kOutOfMemory, "no memory for a session");
}

/// What the variants of a session share. Owned by the session.
struct SharedMemory {
  uint8_t* arena = nullptr;
  uint8_t* workspace = nullptr;
  Span<uint8_t* const> states;  ///< per state of the method
};

/// One of a method's programs, made ready to run in a session's memory.
class Variant {
 public:
  Variant() = default;
  Variant(const Variant&) = delete;
  Variant& operator=(const Variant&) = delete;

  /// Chooses and prepares the kernels. REQUIRES: called once, first; all arguments outlive this.
  Status make_plan(const ProgramState& program, const fb::Method& method,
                   const SessionOptions& options, CountedMemory* memory, BackendServices* services);
  /// Gives every value its memory. REQUIRES: called once, after make_plan.
  Status make_values(const SharedMemory& memory, bool profile);

  const fb::Method& method() const { return *method_; }
  const Plan& plan() const { return plan_; }

  /// Where the plan keeps input i when it is not pointed elsewhere.
  uint8_t* input_in_arena(size_t i) const { return memory_.arena + value(input_id(i)).offset(); }
  /// dtype and shape of input i; its data is where the next run reads it.
  const TensorView& input(size_t i) const { return values_[input_id(i)]; }
  /// The next runs read input i (and views of it) here.
  void point_input(size_t i, void* data);

  /// Runs the nodes and checks the guards, until `stop` is due. Writes the arena, never states.
  /// kGuardFailed: says which guard.
  Status run(const RunStop& stop);

  const TensorView& output(size_t i) const { return values_[output_id(i)]; }
  /// What state k becomes. REQUIRES: run() was ok.
  const TensorView& next_of_state(size_t k) const;

  /// Also while another thread runs. `texts`: the method, or the one of the file that it was made
  /// of; what the answer points to is there.
  NodeInfo node(size_t i, const fb::Method& texts) const;
  /// Goes on with the counts of the same program bound to other sizes, and with those of its texts
  /// that are the same.
  void continue_from(Variant* other);
  uint64_t guard_refusals(size_t guard) const { return guards_.refusals(guard); }

 private:
  /// Atomic each: written by the thread that runs, read by any.
  struct NodeTime {
    uint64_t nanoseconds = 0;
    uint64_t runs = 0;
  };

  bool follow_inputs();
  void place_values();
  void refresh_operands();
  Status run_node(size_t index);
  Status run_node_timed(size_t index);
  const fb::Value& value(size_t id) const {
    return *method_->values()->Get(static_cast<uint32_t>(id));
  }
  size_t input_id(size_t i) const {
    return static_cast<size_t>(method_->inputs()->Get(static_cast<uint32_t>(i))->value());
  }
  size_t output_id(size_t i) const {
    return static_cast<size_t>(method_->outputs()->Get(static_cast<uint32_t>(i))->value());
  }

  const ProgramState* program_ = nullptr;
  const fb::Method* method_ = nullptr;
  Allocator allocator_;
  SharedMemory memory_;
  Plan plan_;
  Guards guards_;
  Array<TensorView> values_;        ///< per value id
  Array<uint32_t> followers_;       ///< ids of the values in an input's memory, input by input
  Array<uint32_t> first_follower_;  ///< per input, and one more where the last one's end
  Array<TensorView> operands_;      ///< per entry of plan_.operands()
  Array<bool> rebind_;              ///< per node
  Array<NodeTime> times_;           ///< per node; empty unless profiling
  bool stale_ = false;              ///< operands_ must be refreshed before the next run
};

}  // namespace lazyrt
