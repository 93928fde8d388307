#include "host_tracer/exporter.h"

#include <algorithm>
#include <chrono>

namespace lazyrt {
namespace {

/// Reports the stage and, when it ends, its time.
class Stage {
 public:
  Stage(const ExportOptions& options, ExportReport* report, const std::string& name)
      : report_(report), name_(name), start_(std::chrono::steady_clock::now()) {
    if (options.progress) options.progress(name, 0, 0);
  }
  ~Stage() {
    const std::chrono::duration<double, std::milli> spent =
        std::chrono::steady_clock::now() - start_;
    report_->times.push_back({name_, spent.count()});
  }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

 private:
  ExportReport* report_;
  std::string name_;
  std::chrono::steady_clock::time_point start_;
};

Outcome<Graph> import_stage(const Trace& trace, const OpTable& ops, const ExportOptions& options,
                            ExportReport* report) {
  const Stage stage(options, report, "import");
  Outcome<Graph> graph = import_trace(trace, ops, &report->import);
  if (!graph.ok()) return graph;
  LAZYRT_TRY(verify_graph(*graph));
  if (options.after_pass) options.after_pass("import", *graph);
  return graph;
}

Outcome<Done> pass_stage(Graph& graph, const ExportOptions& options, ExportReport* report) {
  const Stage stage(options, report, "passes");
  const auto total = static_cast<int64_t>(options.pipeline.size());
  int64_t done = 0;
  PipelineOptions hooks;
  hooks.after = [&](const Pass& pass, const Graph& now) {
    ++done;
    if (options.progress) options.progress("passes: " + pass.name, done, total);
    if (options.after_pass) options.after_pass(pass.name, now);
  };
  auto passes = run_pipeline(graph, options.pipeline, hooks);
  if (!passes.ok()) return passes.failure();
  report->passes = std::move(*passes);
  graph.remove_dead();
  graph.compact();
  return Done{};
}

MemoryPlan plan_stage(const Graph& graph, const ExportOptions& options, ExportReport* report) {
  const Stage stage(options, report, "plan");
  MemoryPlan plan = plan_memory(graph);
  report->arena_bytes = plan.arena_bytes;
  report->arena_lower_bound = plan.lower_bound;
  report->in_place = plan.in_place;
  report->views = plan.views;
  report->allocations = plan.allocations;
  return plan;
}

Outcome<Done> write_stage(const Graph& graph, const MemoryPlan& plan, const Trace& trace,
                          const ExportOptions& options, ExportReport* report) {
  const Stage stage(options, report, "write");
  EmitOptions emit = options.emit;
  if (!trace.producer.empty()) emit.info.emplace_back("source", trace.producer);
  for (const std::string& note : trace.notes) emit.info.emplace_back("note", note);
  auto file = write_bundle(graph, plan, emit, options.path);
  if (!file.ok()) return file.failure();
  report->file = *file;
  return Done{};
}

void list_nodes(const Graph& graph, ExportReport* report) {
  for (const Node& node : graph.nodes()) {
    const Value& y = graph.value(node.outputs[0]);
    report->nodes.push_back({node.attrs.name(),
                             dtype_name(y.dtype) + std::string(shape_text(y.shape).text),
                             node.attrs.text(), node.source});
    report->permutes += node.attrs.kind() == fb::OpAttrs::Permute ? 1 : 0;
  }
}

}  // namespace

std::vector<std::string> dump_points(const Pipeline& pipeline) {
  std::vector<std::string> names = {"import"};
  for (const Pass& pass : pipeline) {
    if (std::find(names.begin(), names.end(), pass.name) == names.end()) names.push_back(pass.name);
  }
  return names;
}

Outcome<ExportReport> export_trace(const Trace& trace, const OpTable& ops,
                                   const ExportOptions& options) {
  ExportReport report;
  report.shapes = trace.shapes;
  report.notes = trace.notes;
  Outcome<Graph> graph = import_stage(trace, ops, options, &report);
  if (!graph.ok()) return graph.failure();
  LAZYRT_TRY(pass_stage(*graph, options, &report));
  const MemoryPlan plan = plan_stage(*graph, options, &report);
  LAZYRT_TRY(write_stage(*graph, plan, trace, options, &report));
  list_nodes(*graph, &report);
  return report;
}

}  // namespace lazyrt
