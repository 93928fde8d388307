#pragma once

#include "runtime/core/run_stop.h"
#include "runtime/exec/guards.h"
#include "runtime/exec/services.h"
#include "runtime/exec/shared_memory.h"

namespace lazyrt {

/// A Variant for builds with fixed sizes, the host's memory and no Watch: it behaves the same. The
/// bundle's metadata stays where it is, so a run reads shapes, operands and places there; only a
/// few words are kept for each node and value.
class FixedVariant {
 public:
  FixedVariant() = default;
  FixedVariant(const FixedVariant&) = delete;
  FixedVariant& operator=(const FixedVariant&) = delete;
  ~FixedVariant();

  /// Chooses and prepares the kernels. `number` is the variant's number in the method, `texts` is
  /// `method`. REQUIRES: called once, first; all arguments outlive this.
  Fault make_plan(const ProgramState& program, size_t number, bool is_only,
                  const fb::Method& method, const fb::Method& texts, const SessionOptions& options,
                  CountedMemory* memory, BackendServices* services, const RunStop& stop,
                  Pool* pool);
  static Fault narrow_homes(const fb::Method&, Span<StateHome>) { return {}; }
  static Fault make_steps_list(const ProgramState&, const fb::Method&, const SessionOptions&,
                               CountedMemory*, Span<const uint8_t>) {
    return {};
  }
  /// Gives every value its memory. REQUIRES: called once, after that, with the same method.
  Fault make_values(const fb::Method& method, const SharedMemory& memory, bool profile);

  uint64_t workspace_bytes(int = kHostSpace) const { return workspace_bytes_; }
  uint64_t packed_weight_bytes() const { return packed_weight_bytes_; }
  static bool uses(int) { return false; }
  static bool runs_only_in(int) { return false; }
  size_t line_count() const { return nodes_.size(); }
  size_t guard_count() const { return guards_.count(); }
  size_t output_count() const { return outputs_.size(); }

  TensorView input(size_t i) const;
  TensorView output(size_t i) const { return view_of(output_value(i)); }
  void point_input(size_t i, void* data) {
    if (inputs_[i] == data) return;
    inputs_[i] = static_cast<uint8_t*>(data);
    stale_ = true;
  }
  void release_outputs();
  bool bind_output(size_t i, void* data, int space);
  const uint8_t* home_of_output(size_t i) const;

  Fault run(const RunStop& stop);
  bool broke_guard() const { return broke_guard_; }
  const Guards& guards() const { return guards_; }
  Fault why_broken() const { return guards_.why(*method_); }
  TensorView next_of_state(size_t k) const;
  static bool keeps_states() { return false; }
  static bool copies_states() { return false; }

  NodeInfo line(size_t i) const;
  static void continue_from(const FixedVariant&) {}
  uint64_t guard_refusals(size_t guard) const { return guards_.refusals(guard); }

 private:
  /// What runs a node.
  struct Node {
    const Kernel* kernel = nullptr;  ///< nullptr: not chosen yet
    void* state = nullptr;
    const char* fallback_reason = nullptr;  ///< the Program's; nullptr: the session's own backend
    int slot = 0;                           ///< of the backend
  };
  /// An output whose memory moves with it: what a node makes, alone or together with other outputs,
  /// the first of which says where it is.
  struct Output {
    static constexpr uint32_t kNone = UINT32_MAX;
    uint32_t first = kNone;    ///< kNone: it is elsewhere
    uint32_t root = 0;         ///< the first value in its memory
    uint8_t* place = nullptr;  ///< for the first output: the caller's memory; nullptr: the arena
  };
  /// Atomic each: written by the thread that runs, read by any.
  struct NodeTime {
    uint64_t nanoseconds = 0;
    uint64_t runs = 0;
  };

  const fb::Value& value(size_t id) const { return value_at(*method_, id); }
  const fb::Node& node(size_t i) const { return node_at(*method_, i); }
  uint32_t input_value(size_t i) const {
    return static_cast<uint32_t>(input_at(*method_, i).value());
  }
  uint32_t output_value(size_t i) const {
    return static_cast<uint32_t>(output_at(*method_, i).value());
  }
  TensorView view_of(size_t id) const;
  NodePlace place_of(size_t index) const { return node_place(*method_, index, *program_->ops); }
  Fault at_node(size_t index, Fault fault) const {
    return fault.ok() ? fault : place_of(index).of(index, fault);
  }
  Fault make_tables(size_t* most_operands);
  Fault choose(size_t index, const Backend& first, TensorSpec* specs);
  Fault try_backend(const Backend& backend, const NodeSpec& spec, Node* node);
  Fault keep_reason(const FirstFault& why, Node* node) const;
  Fault find_outputs();
  void place_values();
  Fault run_nodes(const RunStop& stop);
  Fault run_node(size_t index);

  const ProgramState* program_ = nullptr;
  const fb::Method* method_ = nullptr;
  CountedMemory* memory_ = nullptr;
  BackendServices* services_ = nullptr;
  Pool* pool_ = nullptr;
  uint64_t workspace_bytes_ = 0;
  uint64_t packed_weight_bytes_ = 0;
  uint8_t* arena_ = nullptr;
  void* workspace_ = nullptr;
  uint8_t* host_states_ = nullptr;
  Span<const uint64_t> states_;  ///< behind host_states_
  Span<Node> nodes_;
  Span<uint8_t*> inputs_;      ///< per input: where the next run reads it
  Span<Output> outputs_;       ///< per output
  Span<uint8_t*> data_;        ///< per value: where it is
  Span<TensorView> operands_;  ///< of the node that runs
  Span<NodeTime> times_;       ///< per node; empty unless profiling
  Guards guards_;
  bool broke_guard_ = false;
  bool stale_ = true;  ///< data_ is out of date, or a node has not seen all of its changes
};

}  // namespace lazyrt
