#include <algorithm>

#include "host_tracer/graph/guards.h"
#include "host_tracer/passes/passes.h"

namespace lazyrt {
namespace {

/// The nodes that `value` needs and that are not `placed` yet, in their old order; marks them.
std::vector<size_t> place_needed(const Graph& graph, ValueId value, std::vector<bool>& placed) {
  std::vector<size_t> needed;
  std::vector<ValueId> open = {value};
  while (!open.empty()) {
    const ValueId id = open.back();
    open.pop_back();
    if (graph.producer(id) == nullptr) continue;
    const auto n = static_cast<size_t>(graph.value(id).producer);
    if (placed[n]) continue;
    placed[n] = true;
    needed.push_back(n);
    const Node& node = graph.nodes()[n];
    open.insert(open.end(), node.inputs.begin(), node.inputs.end());
  }
  std::sort(needed.begin(), needed.end());
  return needed;
}

/// What the first guard needs, then the second, ..., then all else, each in its old order.
std::vector<size_t> guards_first(const Graph& graph) {
  const size_t count = graph.nodes().size();
  std::vector<size_t> order;
  std::vector<bool> placed(count, false);
  for (const GraphGuard& guard : graph.guards()) {
    const std::vector<size_t> needed = place_needed(graph, guard.value, placed);
    order.insert(order.end(), needed.begin(), needed.end());
  }
  for (size_t n = 0; n < count; ++n) {
    if (!placed[n]) order.push_back(n);
  }
  return order;
}

}  // namespace

Outcome<size_t> schedule_guards(Graph& graph) {
  Outcome<size_t> settled = settle_guards(graph);
  if (!settled.ok() || graph.guards().empty()) return settled;
  const std::vector<size_t> order = guards_first(graph);
  std::deque<Node> nodes = graph.take_nodes();
  size_t moved = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    moved += order[i] != i ? 1 : 0;
    graph.append(std::move(nodes[order[i]]));
  }
  return *settled + moved;
}

}  // namespace lazyrt
