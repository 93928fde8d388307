#pragma once

// Runs TorchScript graphs node by node: on lazy tensors to capture them, on CPU tensors for what
// eager ATen answers. No profiling, no fusion, no differentiation: what is in the file is what is
// called.

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "host_tracer/frontends/shared/copies.h"
#include "host_tracer/frontends/torchscript/script_module.h"
#include "host_tracer/frontends/torchscript/script_source.h"

namespace lazyrt {

/// What a program asks of tensors beside their values; a capture answers as for contiguous tensors
/// of their own, under no_grad.
struct ScriptQuestions {
  bool strides = false;
  bool strides_by_dim = false;          ///< also of dims of one element
  bool place = false;                   ///< of a tensor in its memory
  bool gradients = false;               ///< whether a tensor requires gradients
  bool identity = false;                ///< whether two tensors are one object
  bool other = false;                   ///< .grad, views, inference mode
  std::optional<Source> gradient_mode;  ///< or whether what the program computed has gradients
  std::optional<Source> torch_asks;     ///< gradient mode, asked by torch's own code
};

class ScriptInterpreter {
 public:
  /// Tensors that the program makes lie on `device`, whichever it names: it takes itself to be on
  /// the CPU. `on_node` is called after each operator and may be empty; `copies` is told of calls
  /// that may copy.
  ScriptInterpreter(const ScriptModule& module, at::Device device, std::function<void()> on_node,
                    Copies* copies);

  /// What forward returns for these arguments (without self). Throws c10::Error that names the
  /// node and the user's line. One call per interpreter: attributes are kept in it.
  c10::IValue run_forward(const std::vector<c10::IValue>& arguments);

  /// Prints and warnings that were left out, with their lines.
  const std::vector<std::string>& notes() const { return notes_; }

  /// Numbers among the attributes that change from run to run and were not kept: the capture cannot
  /// be used then.
  const std::vector<std::string>& changing_numbers() const { return state_.changing_numbers(); }
  const ScriptState& state() const { return state_; }

  /// See ScriptState.
  std::string layout() const { return state_.layout(); }

  const ScriptQuestions& questions() const { return questions_; }

  /// Lines of constants of the graph into which the run has written.
  std::vector<Source> written_constants() const;

  /// See CaptureRequest::check_of: of the truth value that the running node gives.
  std::string check_of(bool seen);

 private:
  using Node = torch::jit::Node;
  using Stack = torch::jit::Stack;
  using Environment = std::unordered_map<const torch::jit::Value*, c10::IValue>;
  using LastUses = std::vector<std::vector<const torch::jit::Value*>>;

  Stack call(torch::jit::Function& function, Stack arguments, const Node* site);
  Stack run_graph(const torch::jit::Graph& graph, Stack inputs);
  Stack run_block(const torch::jit::Block* block, Environment& env);
  void run_node(const Node* node, Environment& env);
  Stack results_of(const Node* node, Environment& env);
  Stack run_if(const Node* node, Environment& env);
  Stack run_loop(const Node* node, Environment& env);
  Stack run_call(const Node* node, Environment& env);
  Stack run_fork(const Node* node, Environment& env);
  Stack run_attribute(const Node* node, Environment& env);
  Stack run_operator(const Node* node, Stack stack);
  std::optional<Stack> run_on_numbers(const Node* node, Stack& stack);
  c10::IValue plain(const Node* node, const c10::IValue& value);
  using Values = at::ArrayRef<const torch::jit::Value*>;
  void make_plain(const Node* node, Values from, Values to, Stack& given);
  Stack call_from(const Node* node, torch::jit::Function& function, Values given, Stack arguments);
  c10::IValue constant(const Node* node);
  void note_question(const Node* node, const Stack& stack);
  void note_gradient_mode(const Node* node);
  bool is_given(const at::Tensor& tensor) const;
  bool is_input(const at::Tensor& tensor) const;
  void note_identity(const c10::IValue& a, const c10::IValue& b);
  void prepare_arguments(const Node* node, Stack& stack) const;
  void keep_on_device(const Node* node, bool from_device, Stack& results) const;
  at::Tensor place(const at::Tensor& tensor);
  Source source_of(const Node* node);
  void add_place(c10::Error& error, const Node* node);
  const LastUses& last_uses(const torch::jit::Block* block);

  const ScriptModule& module_;
  const at::Device device_;
  std::function<void()> on_node_;
  Copies& copying_calls_;
  ScriptState state_;
  ScriptSources sources_;
  std::vector<const Node*> calls_;
  std::vector<std::string> paths_ = {""};  ///< of the module whose method runs, innermost last
  std::unordered_map<const Node*, torch::jit::Operation> operations_;
  std::unordered_map<const torch::jit::Block*, LastUses> last_uses_;
  std::unordered_map<const c10::TensorImpl*, at::Tensor> copies_;  ///< of buffers, on the CPU
  std::unordered_set<const c10::TensorImpl*> trained_;  ///< stand for what requires gradients
  std::vector<std::pair<at::Tensor, Source>> constants_;
  std::vector<at::Tensor> inputs_;
  ScriptQuestions questions_;
  std::vector<std::string> notes_;
  const Node* running_ = nullptr;  ///< an operator
};

}  // namespace lazyrt
