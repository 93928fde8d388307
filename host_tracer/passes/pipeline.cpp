#include "host_tracer/passes/pipeline.h"

#include <chrono>

#include "host_tracer/passes/passes.h"

namespace lazyrt {

const Pipeline& default_pipeline() {
  static const Pass folding = {"fold_constants", fold_constants, fold_all_constants};
  // Equal nodes are not joined before they are known to be equal at all sizes: see unify_graphs().
  static const Pass joining = {"eliminate_common", eliminate_common, PassFunction()};
  static const Pipeline pipeline = {
      {"simplify", simplify},
      folding,
      joining,
      {"find_linear", find_linear},
      {"find_rms_norm", find_rms_norm},
      {"find_activation", find_activation},
      {"assign_layout", assign_layout},
      {"simplify", simplify},
      folding,
      {"find_linear", find_linear},
      {"fold_batch_norm", fold_batch_norm},
      {"expand_batch_norm", expand_batch_norm},
      {"fuse_clamp", fuse_clamp},
      {"fold_transpose", fold_transpose},
      {"simplify", simplify},
      folding,
      joining,
      {"separate_states", separate_states},
      {"schedule_guards", schedule_guards},
      {"eliminate_dead", eliminate_dead},
  };
  return pipeline;
}

Pipeline at_sizes(const Pipeline& pipeline) {
  Pipeline passes;
  for (const Pass& pass : pipeline) {
    const PassFunction& run = pass.run_at_sizes ? *pass.run_at_sizes : pass.run;
    if (run) passes.push_back({pass.name, run});
  }
  return passes;
}

Outcome<PassReport> run_pass(Graph& graph, const Pass& pass) {
  PassReport report;
  report.name = pass.name;
  report.nodes_before = graph.nodes().size();
  const auto start = std::chrono::steady_clock::now();
  Outcome<size_t> changes = pass.run(graph);
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  if (!changes.ok()) {
    return Failure{changes.failure().error, "pass " + pass.name + ": " + changes.failure().text};
  }
  const Outcome<Done> valid = verify_graph(graph);
  if (!valid.ok()) {
    return Failure{Error::kInternal, "after pass " + pass.name + ": " + valid.failure().text};
  }
  report.nodes_after = graph.nodes().size();
  report.changes = *changes;
  report.milliseconds = spent.count();
  return report;
}

Outcome<std::vector<PassReport>> run_pipeline(Graph& graph, const Pipeline& pipeline,
                                              const PipelineOptions& options) {
  std::vector<PassReport> reports;
  for (const Pass& pass : pipeline) {
    auto report = run_pass(graph, pass);
    if (!report.ok()) return report.failure();
    reports.push_back(*report);
    if (options.after) options.after(pass, graph);
  }
  return reports;
}

}  // namespace lazyrt
