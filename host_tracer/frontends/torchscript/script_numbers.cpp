#include "host_tracer/frontends/torchscript/script_numbers.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include <cmath>
#include <set>

namespace lazyrt {
namespace {

class NumbersInValues {
 public:
  void read(const c10::IValue& value) {
    if (value.isInt()) found_.insert(value.toInt());
    if (value.isTensor()) read_extents(value.toTensor());
    if (value.isDouble()) read_real(value.toDouble());
    if (value.isList()) read_all(value.toListRef());
    if (value.isTuple()) read_all(value.toTupleRef().elements());
    if (value.isEnum()) read(value.toEnumHolder()->value());
    if (value.isGenericDict()) {
      for (const auto& item : value.toGenericDict()) {
        read(item.key());
        read(item.value());
      }
    }
    if (value.isObject() && seen_.insert(&value.toObjectRef()).second)
      read_all(value.toObjectRef().slots());
  }

  const std::set<int64_t>& found() const { return found_; }

 private:
  template <class Values>
  void read_all(const Values& values) {
    for (const auto& value : values) read(value);
  }

  /// `n == self.window.size(0)`
  void read_extents(const at::Tensor& tensor) {
    if (tensor.defined()) found_.insert(tensor.sizes().begin(), tensor.sizes().end());
  }

  /// `n / 2 == 68.0`
  void read_real(double value) {
    if (std::abs(value) < 1e15 && value == std::floor(value))
      found_.insert(static_cast<int64_t>(value));
  }

  std::set<int64_t> found_;
  std::set<const c10::ivalue::Object*> seen_;
};

class NumbersInCode {
 public:
  void read(torch::jit::Function* function) {
    if (function == nullptr || !seen_.insert(function).second) return;
    if (auto* graph_function = torch::jit::tryToGraphFunction(*function))
      read(graph_function->graph()->block());
  }

  const std::set<int64_t>& found() const { return values_.found(); }

 private:
  void read(const torch::jit::Block* block) {
    for (const torch::jit::Node* node : block->nodes()) {
      if (node->kind() == c10::prim::Constant) read_constant(node);
      if (node->kind() == c10::prim::CallMethod) read_method(node);
      if (node->hasAttribute(c10::attr::Subgraph)) read(node->g(c10::attr::Subgraph)->block());
      for (const torch::jit::Block* inner : node->blocks()) read(inner);
    }
  }

  void read_constant(const torch::jit::Node* node) {
    if (const auto function = node->output()->type()->cast<c10::FunctionType>())
      return read(function->function());
    if (const auto value = torch::jit::toIValue(node->output())) values_.read(*value);
  }

  void read_method(const torch::jit::Node* node) {
    if (const auto of = node->input(0)->type()->cast<c10::ClassType>())
      read(of->findMethod(node->s(c10::attr::name)));
  }

  NumbersInValues values_;
  std::set<const torch::jit::Function*> seen_;
};

}  // namespace

std::vector<std::vector<int64_t>> numbers_in(const torch::jit::Module& module) {
  NumbersInCode code;
  for (const torch::jit::Module& part : module.modules()) {
    for (const torch::jit::Method& method : part.get_methods()) code.read(&method.function());
    for (torch::jit::Function* hook : part.type()->getForwardHooks()) code.read(hook);
    for (torch::jit::Function* hook : part.type()->getForwardPreHooks()) code.read(hook);
  }
  NumbersInValues attributes;
  attributes.read(module._ivalue());
  std::vector<int64_t> others;
  for (const int64_t number : attributes.found()) {
    if (code.found().count(number) == 0) others.push_back(number);
  }
  return {{code.found().begin(), code.found().end()}, others};
}

}  // namespace lazyrt
