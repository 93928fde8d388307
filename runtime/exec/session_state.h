#pragma once

// What stands behind Session: its variants, the memory they share, inputs and states. Internal to
// runtime/exec.

#include <atomic>

#include "runtime/exec/block.h"
#include "runtime/exec/run_stop.h"
#include "runtime/exec/variant.h"

namespace lazyrt {

class SessionState {
 public:
  /// `method`: its number in the program.
  SessionState(const ProgramState& program, size_t method, const SessionOptions& options,
               const Allocator& allocator);
  SessionState(const SessionState&) = delete;
  SessionState& operator=(const SessionState&) = delete;
  ~SessionState();

  /// Kernels, arena, workspace, states. REQUIRES: called once, before anything else.
  Status make();

  /// `shape` may be nullptr: whatever shape has these bytes.
  Status set_input(size_t i, const Shape* shape, const void* data, size_t bytes);
  /// dtype and shape of the tensor are those of a variant's input.
  Status check_input(size_t i, const TensorView& tensor) const;
  Status bind_input(size_t i, const TensorView& tensor, size_t readable);
  Status run();
  /// From any thread, also while another one is in run.
  void cancel() { stop_.cancel(); }
  Result<TensorView> output(size_t i) const;
  Result<size_t> variant() const;
  Status reset_state();
  Result<TensorView> state(size_t i) const;
  SessionStats stats() const;
  size_t node_count() const;
  NodeInfo node(size_t i) const;
  uint64_t guard_refusals(size_t guard, size_t variant) const;

  /// True while a thread is inside.
  std::atomic<bool>& busy() const { return busy_; }
  /// Where the session's memory comes from.
  const Allocator& source() const { return memory_.source(); }

 private:
  struct InputSlot {
    uint8_t* copy = nullptr;  ///< the session's own place for it
    uint64_t room = 0;        ///< of copy: the most bytes that a variant's input takes
    Shape shape;              ///< of what is set
    size_t bytes = 0;
    bool set = false;
    const void* bound = nullptr;  ///< the caller's memory; nullptr: the copy
    bool copy_at_run = false;     ///< bound, but not fit for use in place
    /// Of bound memory that is an input's copy: read into here before any copy is written.
    uint8_t* stage = nullptr;  ///< room_of(room) bytes, once they were needed
    bool is_staged = false;
  };

  Status make_variants();
  Status make_memory();
  Status make_states();
  Status make_inputs();
  Status make_all();
  /// The parts that the bundle states, before anything is made.
  Status find_sizes();
  Status check_memory_limit() const;
  uint64_t input_block_bytes();

  /// The method itself: variant 0.
  const fb::Method& method() const { return variants_[0].method(); }
  const fb::State& state_table(size_t k) const {
    return *method().states()->Get(static_cast<uint32_t>(k));
  }
  const char* input_name(size_t i) const;
  Status no_input(size_t i) const;
  Status wrong_input(size_t i, const char* given) const;
  Status find_shape(size_t i, size_t bytes, Shape* shape) const;
  bool is_own_memory(const void* data, size_t bytes) const;
  bool is_an_input_copy(const void* data, size_t bytes) const;
  Status make_stage(InputSlot* slot);
  Status prepare_inputs();
  bool fits(const Variant& variant, size_t* wrong) const;
  void point_inputs(Variant* variant);
  Status run_variant(size_t v);
  void keep_states(const Variant& variant);

  const ProgramState& program_;
  const size_t method_index_;
  const SessionOptions options_;
  CountedMemory memory_;  ///< outlives whatever is in it
  const Allocator allocator_;

  // The services outlive the kernels of the variants.
  BackendServices services_;
  Variant* variants_ = nullptr;
  size_t variant_count_ = 0;
  uint64_t arena_bytes_ = 0;
  uint64_t input_bytes_ = 0;
  uint64_t state_bytes_ = 0;
  Block arena_;
  Block workspace_;
  Block state_block_;
  Block input_block_;       ///< of several variants: inputs stay when the next variant is tried
  Array<uint8_t*> states_;  ///< per state: where it is in state_block_
  Array<InputSlot> inputs_;
  Array<uint32_t> by_address_;  ///< the inputs in the order of their copies
  int32_t ran_ = -1;            ///< the variant of the last run's result; -1: there is none
  RunStop stop_;
  mutable std::atomic<bool> busy_{false};
};

}  // namespace lazyrt
