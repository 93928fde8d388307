#pragma once

// The order of the passes, and what runs them.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "host_tracer/graph/graph.h"

namespace lazyrt {

/// Changes a graph; how often.
using PassFunction = std::function<Outcome<size_t>(Graph&)>;

/// A pass by name. Users add theirs to a copy of default_pipeline().
struct Pass {
  std::string name;
  PassFunction run;
  /// Replaces `run` on graphs of one program at several sizes, which have to stay alike, so its
  /// changes must not depend on sizes. Empty function: the pass is left out. Absent: `run` is used.
  std::optional<PassFunction> run_at_sizes = {};
};
using Pipeline = std::vector<Pass>;

/// The exporter's passes in order. A name may occur more than once.
const Pipeline& default_pipeline();

/// The pipeline for graphs of one program at several sizes.
Pipeline at_sizes(const Pipeline& pipeline);

struct PassReport {
  std::string name;
  size_t nodes_before = 0;
  size_t nodes_after = 0;
  size_t changes = 0;
  double milliseconds = 0;
};

struct PipelineOptions {
  /// Called after each pass, e.g. to print the graph or show progress.
  std::function<void(const Pass&, const Graph&)> after;
};

/// Runs a pass and verify_graph() after it. The failure names the pass; the graph is void then.
Outcome<PassReport> run_pass(Graph& graph, const Pass& pass);

/// Runs the passes in order with verify_graph() after each. The failure names the pass; the graph
/// is void then.
Outcome<std::vector<PassReport>> run_pipeline(Graph& graph, const Pipeline& pipeline,
                                              const PipelineOptions& options = {});

}  // namespace lazyrt
