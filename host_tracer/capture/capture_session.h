#pragma once

// The state of one capture on one thread: leaves by their data, nodes in order.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "host_tracer/capture/capture.h"
#include "host_tracer/capture/capture_node.h"

namespace lazyrt {

class CaptureSession {
 public:
  explicit CaptureSession(const CaptureRequest& request);
  ~CaptureSession();
  CaptureSession(const CaptureSession&) = delete;
  CaptureSession& operator=(const CaptureSession&) = delete;

  /// This thread's running capture, or nullptr.
  static CaptureSession* current();

  const CaptureRequest& request() const { return request_; }

  /// The inputs as functional lazy tensors, in the request's order.
  const std::vector<at::Tensor>& inputs() const { return inputs_; }

  /// The functional lazy tensor over the data of a CPU tensor; one for each distinct data.
  at::Tensor lift(const at::Tensor& cpu);

  /// Does the call: pops its arguments (lazy tensors, not functional; CPU tensors are constants)
  /// and pushes lazy results. Throws when it needs a value that depends on the inputs.
  void record(const c10::OperatorHandle& op, torch::jit::Stack* stack);

  /// Ends the capture: the trace of what the outputs need. Throws when inputs, parameters or
  /// buffers were written.
  Trace finish(const std::vector<at::Tensor>& outputs, const std::vector<std::string>& names);

 private:
  using DataKey = std::tuple<const void*, std::vector<int64_t>, std::vector<int64_t>, int>;
  struct Leaf {
    std::shared_ptr<LeafNode> node;
    at::Tensor functional;
    at::Tensor original;  ///< keeps the data's address taken
  };

  static DataKey key_of(const at::Tensor& cpu);
  Leaf& leaf_of(const at::Tensor& cpu);
  Leaf make_leaf(LeafKind kind, const std::string& name, const at::Tensor& cpu);
  void add_named(LeafKind kind, const std::vector<NamedTensor>& tensors);
  torch::lazy::Value operand_value(const at::Tensor& t);
  bool record_special(const c10::OperatorHandle& op, torch::jit::Stack* stack);
  at::Tensor evaluate_constant(const c10::OperatorHandle& op, const at::Tensor& t);
  void run_on_values(const c10::OperatorHandle& op, torch::jit::Stack* stack);
  void lift_results(const c10::OperatorHandle& op, torch::jit::Stack* stack);
  void record_node(const c10::OperatorHandle& op, torch::jit::Stack* stack);
  OpNode::Call make_call(const c10::OperatorHandle& op, const std::vector<c10::IValue>& args,
                         std::vector<torch::lazy::Value>& operands);
  void check_writes() const;
  torch::lazy::Value output_value(const at::Tensor& output);

  const CaptureRequest& request_;  ///< outlives the session
  std::vector<at::Tensor> inputs_;
  std::vector<Leaf> input_leaves_;
  std::map<DataKey, Leaf> leaves_;
  std::vector<torch::lazy::NodePtr> nodes_;  ///< in order; released in reverse, without recursion
  ShapeStats stats_;
  std::vector<std::string> notes_;
};

/// The source that a node of this thread gets now: the innermost SourceScope's, else what the
/// request's source_of says, else nothing.
Source current_source();

/// "aten::add.Tensor" of an operator.
std::string full_name(const c10::OperatorHandle& op);

/// " at encoder.0 (model.py:12)" or "".
std::string source_suffix();

}  // namespace lazyrt
