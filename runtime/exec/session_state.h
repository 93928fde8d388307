#pragma once

// What stands behind Session: memory, the pointers of every operand, inputs and the run loop.
// Internal to runtime/exec.

#include <atomic>

#include "runtime/exec/block.h"
#include "runtime/exec/plan.h"

namespace lazyrt {

class SessionState {
 public:
  SessionState(const ProgramState& program, const fb::Method& method, const SessionOptions& options,
               const Allocator& allocator);
  SessionState(const SessionState&) = delete;
  SessionState& operator=(const SessionState&) = delete;

  /// Kernels, arena, workspace. REQUIRES: called once, before anything else.
  Status make();

  Status set_input(size_t i, const void* data, size_t bytes);
  Status check_input(size_t i, const TensorView& tensor) const;
  Status bind_input(size_t i, const TensorView& tensor, size_t readable);
  Status run();
  Result<TensorView> output(size_t i) const;
  SessionStats stats() const;
  size_t node_count() const { return plan_.nodes().size(); }
  NodeInfo node(size_t i) const;

  /// True while a thread is inside.
  std::atomic<bool>& busy() const { return busy_; }
  const Allocator& allocator() const { return allocator_; }

 private:
  struct InputSlot {
    int32_t value = -1;
    bool set = false;
    const void* bound = nullptr;  ///< the caller's memory; nullptr: the copy in the arena
    bool copy_at_run = false;     ///< bound, but not fit for use in place
  };

  Status make_values();
  Status make_inputs();
  Status make_memory();
  void follow_aliases();
  /// Where the data of a value is now.
  void* address_of(size_t id) const;
  /// Brings the operands' pointers up to date and marks the nodes concerned.
  void refresh_operands();
  void point_input(size_t i, const void* bound, bool copy_at_run);
  Status prepare_inputs();
  Status run_nodes();
  Status run_node(size_t index);
  Status run_node_timed(size_t index);
  const fb::Value& value(size_t id) const {
    return *method_.values()->Get(static_cast<uint32_t>(id));
  }
  size_t input_bytes(size_t i) const {
    return values_[static_cast<size_t>(inputs_[i].value)].bytes();
  }
  const char* input_name(size_t i) const;

  const ProgramState& program_;
  const fb::Method& method_;
  const SessionOptions options_;
  const Allocator allocator_;

  // The services outlive the kernels of the plan.
  BackendServices services_;
  Plan plan_;
  Block arena_;
  Block workspace_;
  Array<TensorView> values_;    ///< per value id
  Array<int32_t> input_of_;     ///< per value id: the input whose memory it is, or -1
  Array<TensorView> operands_;  ///< per entry of plan_.operands()
  Array<bool> rebind_;          ///< per node
  Array<InputSlot> inputs_;
  struct NodeTime {
    uint64_t nanoseconds = 0;
    uint64_t runs = 0;
  };
  Array<NodeTime> times_;  ///< per node; empty unless options_.profile
  bool stale_ = true;      ///< operands_ must be refreshed before the next run
  bool has_run_ = false;
  mutable std::atomic<bool> busy_{false};
};

}  // namespace lazyrt
