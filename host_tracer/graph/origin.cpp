#include "host_tracer/graph/origin.h"

#include <utility>

#include "host_tracer/graph/graph.h"

namespace lazyrt {
namespace {

std::vector<int64_t> dims_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

bool is_move(const Node& node) {
  return node.attrs.kind() == fb::OpAttrs::Permute || node.attrs.kind() == fb::OpAttrs::Reshape;
}

std::vector<int32_t> permutation(const Node& node) {
  const auto* perm = node.attrs.as<fb::Permute>().perm();
  return perm == nullptr ? std::vector<int32_t>()
                         : std::vector<int32_t>(perm->begin(), perm->end());
}

std::vector<int32_t> inverted(const std::vector<int32_t>& perm) {
  std::vector<int32_t> inverse(perm.size());
  for (size_t i = 0; i < perm.size(); ++i)
    inverse[static_cast<size_t>(perm[i])] = static_cast<int32_t>(i);
  return inverse;
}

/// From the operand of a permute or reshape to its result, or back.
Origin moved(const Graph& graph, const Node& node, const Origin& origin, bool back) {
  if (node.attrs.kind() == fb::OpAttrs::Permute)
    return origin.permuted(back ? inverted(permutation(node)) : permutation(node));
  return origin.reshaped(dims_of(graph.value(back ? node.inputs[0] : node.outputs[0]).shape));
}

}  // namespace

Origin Origin::permuted(const std::vector<int32_t>& perm) const {
  Origin moved = *this;
  if (is_known()) moved.steps.push_back({true, {perm.begin(), perm.end()}});
  return moved;
}

Origin Origin::reshaped(const std::vector<int64_t>& shape) const {
  Origin moved = *this;
  if (is_known()) moved.steps.push_back({false, shape});
  return moved;
}

void complete_origins(Graph& graph) {
  const auto settle = [&](const Node& node, bool back) {
    if (!is_move(node)) return;
    Value& from = graph.value(back ? node.outputs[0] : node.inputs[0]);
    Value& to = graph.value(back ? node.inputs[0] : node.outputs[0]);
    if (!from.origin.is_known() || to.origin.is_known() || to.kind != ValueKind::kNode) return;
    to.origin = moved(graph, node, from.origin, back);
  };
  for (size_t n = graph.nodes().size(); n-- > 0;) settle(graph.nodes()[n], true);
  for (const Node& node : graph.nodes()) settle(node, false);
}

}  // namespace lazyrt
