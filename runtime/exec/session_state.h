#pragma once

// What Session owns: everything that does not depend on the sizes of its inputs, the part that is
// bound to them, and the inputs of other sizes that wait for the next run. Internal to
// runtime/exec.

#include <atomic>

#include "runtime/core/profile.h"
#include "runtime/exec/bound_session.h"
#include "runtime/platform/threads.h"

namespace lazyrt {

class SessionState {
 public:
  /// `method`: its number in the program.
  SessionState(const ProgramState& program, size_t method, const SessionOptions& options,
               const Allocator& allocator);
  SessionState(const SessionState&) = delete;
  SessionState& operator=(const SessionState&) = delete;
  ~SessionState();

  /// Kernels, arena, workspace, states, at the sizes of the file. REQUIRES: called once, before
  /// anything else.
  Fault make();

  Fault set_input(size_t i, const void* data, size_t bytes);
  Fault set_input(size_t i, const TensorView& tensor);
  Fault bind_input(size_t i, const TensorView& tensor, size_t readable);
  Fault bind_output(size_t i, void* data, size_t writable, const Backend* device);
  Fault bind_shapes(Span<const Shape> inputs);
  Fault run();
  /// From any thread, also while another one is in run.
  void cancel() { stop_.cancel(); }
  Result<TensorView> output(size_t i) const { return bound_->output(i); }
  Result<size_t> variant() const { return bound_->variant(); }
  Fault reset_state();
  Result<TensorView> state(size_t i) { return states_.view(i); }
  Fault set_state(size_t i, const TensorView& tensor) { return states_.set(i, tensor); }
  SessionStats stats() const;
  size_t node_count() const;
  Fault find_node(size_t i, NodeInfo* info) const;
  uint64_t guard_refusals(size_t guard, size_t variant) const;

  /// True while a thread is inside.
  std::atomic<bool>& busy() const { return busy_; }
  /// Where the session's memory comes from.
  const Allocator& source() const { return memory_.source(); }

 private:
  /// An input whose shape is not the bound one: it waits for a run, which binds its shape.
  struct PendingInput {
    bool is_set = false;
    Shape shape;
    void* copy = nullptr;         ///< of what was set; owned
    const void* bound = nullptr;  ///< the caller's memory, instead
    size_t readable = 0;          ///< bytes at bound
  };

  const fb::Method& method() const { return program_.method(method_index_); }
  bool is_dynamic() const { return kDynamicShapes && symbol_count_ != 0; }

  Fault make_all();
  Fault make_reserve();
  Fault find_needs(BoundSession::Needs* needs);
  Fault make_reservation(const BoundSession::Needs& needs);
  Fault measure_bind(const int64_t* symbols, uint64_t* bytes);
  Fault make_bound(const int64_t* symbols, BoundSession** bound);
  void destroy_bound(BoundSession* bound);
  /// Where it comes from itself: not counted, if it has no place in a reserve.
  const Allocator& memory_of_bound() const { return is_reserved_ ? allocator_ : memory_.source(); }

  Fault check_input_index(size_t i) const;
  Fault find_shape(size_t i, size_t bytes, Shape* shape) const;
  Fault check_input(size_t i, const TensorView& tensor) const;
  Fault wait_with_copy(size_t i, const TensorView& tensor);
  Fault wait_with_memory(size_t i, const TensorView& tensor, size_t readable);
  void drop_pending(size_t i);
  Fault find_space(size_t output, const Backend* device, uint8_t* space);
  Fault check_binding(size_t i, const OutputBinding& binding) const;
  bool is_pending() const { return kDynamicShapes && pending_count_ != 0; }

  Fault find_sizes(int64_t* symbols) const;
  Fault bind_pending();
  Fault rebind(const int64_t* symbols);
  Fault copy_staying_inputs(const BoundSession& next);
  Fault move_inputs(BoundSession* next) const;
  void replace_bound(BoundSession* next);
  void drop_moved();

  const ProgramState& program_;
  const size_t method_index_;
  const size_t symbol_count_;
  const SessionOptions options_;
  CountedMemory memory_;  ///< outlives whatever is in it
  const Allocator allocator_;
  Pool pool_;  ///< for what it keeps whatever the sizes

  RunStop stop_;
  BackendServices services_{};  ///< outlive the kernels
  std::array<DeviceBlock, kDeviceSlots> blocks_;
  StateMemory states_;
  OutputBindings outputs_{};
  Reservation reservation_{};
  bool is_reserved_ = false;       ///< what is bound borrows of it
  BoundSession* bound_ = nullptr;  ///< owned; never nullptr once make() was ok
  int64_t sizes_[kDynamicShapes ? kBundleMaxSymbols : 1] = {};  ///< that bound_ is bound to
  Span<PendingInput> pending_;  ///< per input; empty of a method without symbols
  Span<Shape> shapes_;          ///< per input, while sizes are sought
  size_t pending_count_ = 0;
  /// Held while bound_ or its content is replaced, and by other threads while they read it.
  mutable Mutex mutex_;
  mutable std::atomic<bool> busy_{false};
};

}  // namespace lazyrt
