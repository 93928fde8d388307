#include "host_tracer/graph/guards.h"
#include "host_tracer/passes/passes.h"

namespace lazyrt {
namespace {

/// Marks the nodes that `value` needs and that are not `placed` yet.
std::vector<bool> needed_for(const Graph& graph, ValueId value, const std::vector<bool>& placed) {
  std::vector<bool> needed(graph.nodes().size(), false);
  std::vector<ValueId> open = {value};
  while (!open.empty()) {
    const ValueId id = open.back();
    open.pop_back();
    if (graph.producer(id) == nullptr) continue;
    const auto n = static_cast<size_t>(graph.value(id).producer);
    if (needed[n] || placed[n]) continue;
    needed[n] = true;
    const Node& node = graph.nodes()[n];
    open.insert(open.end(), node.inputs.begin(), node.inputs.end());
  }
  return needed;
}

/// What the first guard needs, then the second, ..., then all else, each in its old order.
std::vector<size_t> guards_first(const Graph& graph) {
  const size_t count = graph.nodes().size();
  std::vector<size_t> order;
  std::vector<bool> placed(count, false);
  const auto place = [&](const std::vector<bool>& which) {
    for (size_t n = 0; n < count; ++n) {
      if (!which[n] || placed[n]) continue;
      placed[n] = true;
      order.push_back(n);
    }
  };
  for (const GraphGuard& guard : graph.guards()) {
    place(needed_for(graph, guard.value, placed));
  }
  place(std::vector<bool>(count, true));
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
