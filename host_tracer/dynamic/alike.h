#pragma once

// Takes graphs of one program at several sizes through the passes with the same changes in each.

#include <optional>
#include <set>
#include <vector>

#include "host_tracer/graph/graph.h"
#include "host_tracer/graph/rewriter.h"
#include "host_tracer/passes/pipeline.h"

namespace lazyrt {

/// Equal for graphs whose nodes, operands, results and kinds of values agree by id.
std::vector<int64_t> structure_of(const Graph& graph);

/// Runs passes on graphs that have the same nodes, so that these have the same nodes afterwards. A
/// rule of a pass changes a node in all graphs or in none: a pad that is empty at one size only
/// stays, and so does what makes a constant whose content varies in no known form. A pass without
/// rules that does otherwise at another size is left out.
class AlikePasses {
 public:
  explicit AlikePasses(Pipeline pipeline);

  /// The graphs after all passes, compact; graphs that differ before the passes go by themselves.
  /// The largest is the last. `reports`, if given, gets the first graph's, for which
  /// options.after is called.
  Outcome<std::vector<Graph>> run(std::vector<Graph> graphs, const PipelineOptions& options = {},
                                  std::vector<PassReport>* reports = nullptr);
  /// Takes one more graph of the program through the passes; nothing if they would change it
  /// differently than in the last run().
  Outcome<std::optional<Graph>> run_one(Graph graph) const;

 private:
  /// How a pass went.
  struct Way {
    std::vector<RewriteJournal::Step> steps;
    std::vector<int64_t> structure;  ///< of the graph after it
    PassReport report;
  };
  /// What a pass has to do to all graphs.
  struct Stage {
    Pass pass;
    std::set<size_t> kept;
    bool left_out = false;
    Way way;
  };

  static Outcome<Way> run_stage(const Stage& stage, Graph* graph);
  Outcome<bool> try_alike(Stage* stage, std::vector<Graph>* graphs);
  Outcome<Done> run_alike(Stage* stage, std::vector<Graph>* graphs);
  static Outcome<Done> run_apart(Stage* stage, std::vector<Graph>* graphs);
  static bool differ(const std::vector<Way>& ways, Stage* stage);
  static bool has_unknown_constants(const std::vector<Graph>& graphs, Stage* stage);

  std::vector<Stage> stages_;
  bool alike_ = true;
  std::vector<int64_t> structure_;  ///< before the passes
};

}  // namespace lazyrt
