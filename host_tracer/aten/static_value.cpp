#include "host_tracer/aten/static_value.h"

#include <unordered_map>

#include "host_tracer/graph/evaluate.h"

namespace lazyrt {
namespace {

class StaticEvaluation {
 public:
  explicit StaticEvaluation(const Graph& graph) : graph_(graph) {}

  /// Computes `value` and everything that it needs; false if that is not possible.
  bool compute(ValueId value) {
    std::vector<ValueId> open = {value};
    while (!open.empty()) {
      const ValueId id = open.back();
      if (is_known(id)) {
        open.pop_back();
        continue;
      }
      const Node* producer = graph_.producer(id);
      if (producer == nullptr) return false;
      const size_t before = open.size();
      for (ValueId input : producer->inputs) {
        if (!is_known(input)) open.push_back(input);
      }
      if (open.size() == before && !run(*producer)) return false;
    }
    return true;
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
  bool is_known(ValueId id) const {
    return id == kNoValue || graph_.value(id).kind == ValueKind::kConstant || known_.count(id) != 0;
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
