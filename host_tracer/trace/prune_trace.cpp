#include "host_tracer/trace/prune_trace.h"

#include <algorithm>

#include "host_tracer/trace/operands.h"

namespace lazyrt {
namespace {

void renumber(TraceArg& arg, const std::vector<TraceValueId>& ids) {
  const auto map = [&](TensorArg& item) {
    if (item.value != kNoTraceValue) item.value = ids[static_cast<size_t>(item.value)];
  };
  if (auto* one = std::get_if<TensorArg>(&arg)) map(*one);
  if (auto* list = std::get_if<std::vector<TensorArg>>(&arg)) {
    for (TensorArg& item : *list) map(item);
  }
}

/// A node stays if one of its results is live; then all of them do.
std::vector<bool> live_nodes(const Trace& trace, const std::vector<bool>& live) {
  std::vector<bool> nodes(trace.nodes.size());
  for (size_t i = 0; i < live.size(); ++i) {
    const int32_t producer = trace.values[i].producer;
    if (live[i] && producer >= 0) nodes[static_cast<size_t>(producer)] = true;
  }
  return nodes;
}

}  // namespace

std::vector<bool> live_values(const Trace& trace, const std::vector<TraceValueId>& roots) {
  std::vector<bool> live(trace.values.size());
  std::vector<TraceValueId> open = roots;
  while (!open.empty()) {
    const TraceValueId id = open.back();
    open.pop_back();
    if (id == kNoTraceValue || live[static_cast<size_t>(id)]) continue;
    live[static_cast<size_t>(id)] = true;
    const int32_t producer = trace.values[static_cast<size_t>(id)].producer;
    if (producer < 0) continue;
    for_each_operand(trace.nodes[static_cast<size_t>(producer)],
                     [&](TraceValueId operand) { open.push_back(operand); });
  }
  return live;
}

std::vector<TraceValueId> result_roots(const Trace& trace) {
  std::vector<TraceValueId> roots;
  for (const TraceOutput& out : trace.outputs) roots.push_back(out.value);
  for (const TraceState& state : trace.states) {
    roots.push_back(state.leaf);
    roots.push_back(state.next);
  }
  return roots;
}

void prune_trace(Trace& trace) {
  std::vector<TraceValueId> roots = result_roots(trace);
  for (const TraceGuard& guard : trace.guards) roots.push_back(guard.value);
  std::vector<bool> live = live_values(trace, roots);
  for (const TraceValueId id : trace.inputs) live[static_cast<size_t>(id)] = true;
  const std::vector<bool> kept = live_nodes(trace, live);

  std::vector<TraceNode> nodes;
  std::vector<int32_t> places(trace.nodes.size(), -1);
  for (size_t i = 0; i < trace.nodes.size(); ++i) {
    if (!kept[i]) continue;
    places[i] = static_cast<int32_t>(nodes.size());
    nodes.push_back(std::move(trace.nodes[i]));
  }
  std::vector<TraceValue> values;
  std::vector<TraceValueId> ids(trace.values.size(), kNoTraceValue);
  for (size_t i = 0; i < trace.values.size(); ++i) {
    TraceValue& value = trace.values[i];
    if (value.producer >= 0) value.producer = places[static_cast<size_t>(value.producer)];
    if (!live[i] && value.producer < 0) continue;
    ids[i] = static_cast<TraceValueId>(values.size());
    values.push_back(std::move(value));
  }
  const auto map = [&](TraceValueId& id) {
    if (id != kNoTraceValue) id = ids[static_cast<size_t>(id)];
  };
  for (TraceNode& node : nodes) {
    for (auto& [name, arg] : node.args) renumber(arg, ids);
    std::for_each(node.outputs.begin(), node.outputs.end(), map);
  }
  std::for_each(trace.inputs.begin(), trace.inputs.end(), map);
  for (TraceOutput& out : trace.outputs) map(out.value);
  for (TraceGuard& guard : trace.guards) map(guard.value);
  for (TraceState& state : trace.states) {
    map(state.leaf);
    map(state.next);
  }
  trace.nodes = std::move(nodes);
  trace.values = std::move(values);
}

}  // namespace lazyrt
