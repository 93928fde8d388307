#include "host_tracer/aten/static_value.h"

#include <algorithm>
#include <unordered_map>

#include "host_tracer/graph/evaluate.h"

namespace lazyrt {
namespace {

class StaticEvaluation {
 public:
  explicit StaticEvaluation(const Graph& graph) : graph_(graph) {}

  /// Computes `value` and all that it needs; false when that is not possible.
  bool compute(ValueId value) {
    if (value == kNoValue || known_.count(value) != 0) return true;
    const Value& v = graph_.value(value);
    if (v.kind == ValueKind::kConstant) return true;
    const Node* producer = find_producer(value);
    if (producer == nullptr) return false;
    const auto computed = [this](ValueId id) { return compute(id); };
    if (!std::all_of(producer->inputs.begin(), producer->inputs.end(), computed)) return false;
    return run(*producer);
  }

  std::vector<Scalar> elements(ValueId value) const {
    const TensorView view = operand(value);
    std::vector<Scalar> result;
    for (int64_t i = 0; i < view.numel(); ++i) {
      result.push_back(read_scalar(view.dtype, view.data, i));
    }
    return result;
  }

 private:
  const Node* find_producer(ValueId value) const {
    const auto& nodes = graph_.nodes();
    const auto found = std::find_if(nodes.rbegin(), nodes.rend(), [value](const Node& n) {
      return std::find(n.outputs.begin(), n.outputs.end(), value) != n.outputs.end();
    });
    return found == nodes.rend() ? nullptr : &*found;
  }

  /// REQUIRES: a constant or a computed value; absent for kNoValue.
  TensorView operand(ValueId value) const {
    if (value == kNoValue) return {};
    const auto found = known_.find(value);
    if (found != known_.end()) return found->second.view();
    const Value& v = graph_.value(value);
    return {const_cast<uint8_t*>(v.constant.data), v.dtype, v.shape};
  }

  bool run(const Node& node) {
    std::vector<TensorView> operands;
    for (ValueId id : node.inputs) operands.push_back(operand(id));
    const Outcome<std::vector<HostTensor>> results = evaluate_node(graph_, node, operands);
    if (!results.ok()) return false;
    for (size_t i = 0; i < node.outputs.size(); ++i) known_[node.outputs[i]] = (*results)[i];
    return true;
  }

  const Graph& graph_;
  std::unordered_map<ValueId, HostTensor> known_;
};

}  // namespace

std::vector<Scalar> scalar_elements(const Value& constant) {
  std::vector<Scalar> values;
  const int64_t n = constant.shape.numel();
  values.reserve(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    values.push_back(read_scalar(constant.dtype, constant.constant.data, i));
  }
  return values;
}

std::optional<std::vector<Scalar>> static_elements(const Graph& graph, ValueId value) {
  StaticEvaluation evaluation(graph);
  if (!evaluation.compute(value)) return std::nullopt;
  return evaluation.elements(value);
}

}  // namespace lazyrt
