#include "host_tracer/compile/size_comparison.h"

#include <utility>

#include "host_tracer/dynamic/graph_paths.h"
#include "host_tracer/dynamic/optional_nodes.h"
#include "host_tracer/passes/passes.h"

namespace lazyrt {
namespace {

/// The graph after the passes made the same changes as in all captures; nothing if they would do
/// something else to it.
Outcome<std::optional<Graph>> taken_alike(const SizedProgram& program, const Graph& own) {
  auto alike = program.passes.run_one(own);
  if (!alike.ok() || *alike) return alike;
  std::vector<Graph> both = {program.imported, own};
  const bool completed =
      add_optional_nodes(&both) && structure_of(both[0]) == structure_of(program.imported);
  if (!completed) return alike;
  return program.passes.run_one(std::move(both[1]));
}

/// Constants that vary become nodes in the program of all sizes.
const Pipeline& constants_only() {
  static const Pipeline passes = {{"fold_constants", fold_all_constants},
                                  {"drop_expands", drop_expands},
                                  {"eliminate_common", eliminate_common}};
  return passes;
}

/// The passes for programs of one size, without those that extents of 1 would affect.
Pipeline of_one_size(const Pipeline& pipeline) {
  Pipeline passes = constants_only();
  passes.push_back({"permute_without_units", permute_without_units});
  passes.insert(passes.end(), pipeline.begin(), pipeline.end());
  return passes;
}

/// Where the graphs differ after these passes.
Outcome<std::optional<Source>> difference_after(const Pipeline& passes, Graph own, Graph made) {
  for (Graph* graph : {&own, &made}) {
    LAZYRT_TRY(run_pipeline(*graph, passes));
    graph->remove_dead();
    graph->compact();
  }
  return find_difference(own, made);
}

}  // namespace

std::vector<std::string> calls_of(const Trace& trace) {
  std::vector<std::string> calls;
  for (const TraceNode& node : trace.nodes) calls.push_back(node.full_name());
  return calls;
}

Outcome<std::optional<SizeDifference>> find_size_difference(const SizedProgram& program,
                                                            const SizePoint& point,
                                                            const Trace& trace, const Graph& own,
                                                            const Pipeline& pipeline) {
  auto made = program.dynamic.at(point);
  if (!made.ok()) return made.failure();
  auto alike = taken_alike(program, own);
  if (!alike.ok()) return alike.failure();
  std::optional<Source> first;
  const auto differ = [&](const Pipeline& passes, const Graph& graph) -> Outcome<bool> {
    auto place = difference_after(passes, graph, *made);
    if (!place.ok()) return place.failure();
    if (!first) first = *place;
    return place->has_value();
  };
  const Graph& taken = *alike ? **alike : own;
  auto is_other = differ(constants_only(), taken);
  // Equal calls on extents that happen to be equal, or 1, may need more passes to look the same,
  // and earlier passes may prevent that.
  const Pipeline passes = of_one_size(pipeline);
  for (const Graph* graph : {&taken, static_cast<const Graph*>(&own)}) {
    if (is_other.ok() && *is_other) is_other = differ(passes, *graph);
  }
  if (!is_other.ok()) return is_other.failure();
  if (!*is_other) return std::optional<SizeDifference>();
  const bool is_sure = alike->has_value() || calls_of(trace) != program.calls;
  return std::optional(SizeDifference{*first, is_sure});
}

}  // namespace lazyrt
