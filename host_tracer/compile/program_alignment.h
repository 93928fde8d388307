#pragma once

// Finds which nodes of a finished bundle correspond to nodes of a graph made now from the model's
// trace, so that the bundle's values can be compared with eager's, whichever exporter made it.

#include <optional>
#include <string>
#include <vector>

#include "host_tracer/graph/graph.h"
#include "host_tracer/passes/pipeline.h"
#include "host_tracer/support/outcome.h"
#include "schema/bundle_generated.h"

namespace lazyrt {

/// The graph that this exporter makes of a trace; its values know which values of the trace they
/// are. `any_size`: see import_trace.
Outcome<Graph> make_graph(const Trace& trace, const OpTable& ops, const Pipeline& pipeline,
                          bool any_size);

struct ProgramAlignment {
  /// For each node of the bundle's program: the graph's node, or nothing.
  std::vector<std::optional<size_t>> node;
  /// By node of it without one: why.
  std::vector<std::string> reason;
  bool is_exact = false;  ///< all nodes of both are each other's
};

/// Nodes are alike where operator, source, types of results and number of operands are: the longest
/// common subsequence of both programs. Of those the pairs go whose operands are made by other
/// pairs. Attributes and constants do not count: they may be what is wrong. Extents do not count
/// where `any_size` is true.
ProgramAlignment align_program(const Graph& graph, const fb::Method& program, bool any_size);

}  // namespace lazyrt
