#include "host_tracer/compile/export_stages.h"

namespace lazyrt {

TimedStage::TimedStage(const ExportOptions& options, ExportReport* report, const std::string& name)
    : report_(report), name_(name), start_(std::chrono::steady_clock::now()) {
  if (options.progress) options.progress(name, 0, 0);
}

TimedStage::~TimedStage() {
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start_;
  report_->times.push_back({name_, spent.count()});
}

Outcome<Graph> import_stage(const Trace& trace, const OpTable& ops, const ExportOptions& options,
                            ExportReport* report) {
  const TimedStage stage(options, report, "import");
  Outcome<Graph> graph =
      import_trace(trace, ops, &report->import, /*any_size=*/options.dynamic.has_value());
  if (!graph.ok()) return graph;
  LAZYRT_TRY(verify_graph(*graph));
  if (options.after_pass) options.after_pass("import", *graph);
  return graph;
}

PipelineOptions pass_hooks(const ExportOptions& options) {
  PipelineOptions hooks;
  hooks.after = [&options, done = int64_t{0}](const Pass& pass, const Graph& now) mutable {
    const auto total = static_cast<int64_t>(options.pipeline.size());
    if (options.progress) options.progress("passes: " + pass.name, ++done, total);
    if (options.after_pass) options.after_pass(pass.name, now);
  };
  return hooks;
}

Outcome<Done> pass_stage(Graph& graph, const ExportOptions& options, ExportReport* report) {
  const TimedStage stage(options, report, "passes");
  auto passes = run_pipeline(graph, options.pipeline, pass_hooks(options));
  if (!passes.ok()) return passes.failure();
  report->passes = std::move(*passes);
  graph.remove_dead();
  graph.compact();
  return Done{};
}

MemoryPlan plan_stage(const Graph& graph, const ExportOptions& options, ExportReport* report,
                      const MemoryPlan* model) {
  const TimedStage stage(options, report, "plan");
  MemoryPlan plan = plan_memory(graph, model);
  report->arena_bytes = plan.arena_bytes;
  report->arena_lower_bound = plan.lower_bound;
  report->in_place = plan.in_place;
  report->views = plan.views;
  report->allocations = plan.allocations;
  return plan;
}

}  // namespace lazyrt
