#include "host_tracer/exporter.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "host_tracer/dynamic/alike.h"
#include "host_tracer/graph/guards.h"
#include "host_tracer/passes/passes.h"
#include "host_tracer/trace_groups.h"

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
  Outcome<Graph> graph =
      import_trace(trace, ops, &report->import, /*any_size=*/options.dynamic.has_value());
  if (!graph.ok()) return graph;
  LAZYRT_TRY(verify_graph(*graph));
  if (options.after_pass) options.after_pass("import", *graph);
  return graph;
}

/// Tells the caller of each pass. REQUIRES: `options` outlives it.
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
  const Stage stage(options, report, "passes");
  auto passes = run_pipeline(graph, options.pipeline, pass_hooks(options));
  if (!passes.ok()) return passes.failure();
  report->passes = std::move(*passes);
  graph.remove_dead();
  graph.compact();
  return Done{};
}

MemoryPlan plan_stage(const Graph& graph, const ExportOptions& options, ExportReport* report,
                      const MemoryPlan* model = nullptr) {
  const Stage stage(options, report, "plan");
  MemoryPlan plan = plan_memory(graph, model);
  report->arena_bytes = plan.arena_bytes;
  report->arena_lower_bound = plan.lower_bound;
  report->in_place = plan.in_place;
  report->views = plan.views;
  report->allocations = plan.allocations;
  return plan;
}

/// One program on its way to the file.
struct Variant {
  TraceGroup group;
  std::optional<Graph> graph;
  MemoryPlan plan;
  std::vector<SamplePair> more_samples;
  std::optional<DynamicGraph> dynamic;
  uint64_t reserved_bytes = 0;
};

HostTensor host_tensor(const SampleTensor& sample) {
  HostTensor tensor = HostTensor::make(sample.dtype, Shape(sample.shape));
  std::copy_n(sample.data.data, sample.data.bytes, static_cast<uint8_t*>(tensor.data.get()));
  return tensor;
}

bool same_input_shapes(const Graph& a, const Graph& b) {
  for (size_t i = 0; i < a.inputs().size(); ++i) {
    if (a.value(a.inputs()[i]).shape != b.value(b.inputs()[i]).shape) return false;
  }
  return true;
}

/// Whether a run on the sample of `later` takes `earlier`. Without a sample: when it has no guards.
/// States have the first run's content there: of a later phase it is not known to be taken.
Outcome<bool> shadows(const Graph& earlier, const Graph& later) {
  if (!same_input_shapes(earlier, later)) return false;
  if (earlier.guards().empty()) return true;
  if (later.sample_inputs.size() != later.inputs().size()) return false;
  std::vector<HostTensor> inputs;
  for (const SampleTensor& sample : later.sample_inputs) inputs.push_back(host_tensor(sample));
  return guards_hold(earlier, inputs);
}

Outcome<Done> check_reachable(const std::vector<Variant>& variants, const Variant& later) {
  for (const Variant& earlier : variants) {
    if (phase_of(earlier.group.trace) != phase_of(later.group.trace)) continue;
    auto shadowed = shadows(*earlier.graph, *later.graph);
    if (!shadowed.ok()) return shadowed.failure();
    if (!*shadowed) continue;
    return Failure{Error::kInvalidArgument,
                   "sample " + std::to_string(later.group.samples[0] + 1) +
                       " takes another path than sample " +
                       std::to_string(earlier.group.samples[0] + 1) +
                       ", but nothing tells them apart at run time: their inputs have the same "
                       "shapes, and no guard of the earlier one fails. They part at " +
                       first_difference(earlier.group.trace, later.group.trace)};
  }
  return Done{};
}

Outcome<Done> write_stage(const std::vector<Variant>& variants, Verdict verdict,
                          const ExportOptions& options, ExportReport* report) {
  const Stage stage(options, report, "write");
  EmitOptions emit = options.emit;
  emit.info.emplace_back(kVerdictKey, verdict_name(verdict));
  const std::string& producer = variants[0].group.trace.producer;
  if (!producer.empty()) emit.info.emplace_back("source", producer);
  for (const std::string& note : report->notes) emit.info.emplace_back("note", note);
  std::vector<MethodVariant> parts;
  for (const Variant& v : variants) {
    parts.push_back(
        {*v.graph, v.plan, v.more_samples, v.dynamic ? &*v.dynamic : nullptr, v.reserved_bytes});
  }
  auto file = write_bundle(parts, emit, options.path);
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
  return export_traces({trace}, ops, options);
}

namespace {

/// From a group of traces to a planned graph. Only the first variant's steps go into the report.
Outcome<Variant> make_variant(TraceGroup group, const std::vector<Trace>& samples,
                              const OpTable& ops, const ExportOptions& options,
                              ExportReport* report) {
  Variant made;
  Outcome<Graph> graph = import_stage(group.trace, ops, options, report);
  if (!graph.ok()) return graph.failure();
  made.graph = std::move(*graph);
  LAZYRT_TRY(pass_stage(*made.graph, options, report));
  made.plan = plan_stage(*made.graph, options, report);
  for (size_t k = 1; k < group.samples.size(); ++k) {
    const Trace& sample = samples[group.samples[k]];
    made.more_samples.push_back({sample.sample_inputs, sample.sample_outputs});
  }
  made.group = std::move(group);
  return made;
}

/// What passes do must not depend on sizes: constants are folded whatever they take, and equal
/// nodes are not joined before they are known to be equal at all sizes (unify_graphs).
ExportOptions for_all_sizes(ExportOptions options) {
  auto& passes = options.pipeline;
  passes.erase(std::remove_if(passes.begin(), passes.end(),
                              [](const Pass& pass) { return pass.name == "eliminate_common"; }),
               passes.end());
  for (Pass& pass : options.pipeline) {
    if (pass.name == "fold_constants") pass.run = fold_all_constants;
  }
  return options;
}

/// The graphs of a program at several sizes, the largest last.
class SizedGraphs {
 public:
  /// `options`: of the graphs that it captures itself.
  SizedGraphs(const DynamicExport& sizes, const OpTable& ops, const ExportOptions& options)
      : sizes_(sizes), ops_(ops), options_(options), passes_(options.pipeline) {}

  Outcome<Done> add(const SizePoint& point, const Trace& trace, const ExportOptions& options,
                    ExportReport* report) {
    auto graph = import_stage(trace, ops_, options, report);
    if (!graph.ok()) return graph.failure();
    const bool has_largest = !points_.empty() && points_.back() == sizes_.points.back();
    const auto at = static_cast<ptrdiff_t>(points_.size() - (has_largest ? 1 : 0));
    if (!graphs_.empty()) {
      auto changed = passes_.run_one(*graph);
      if (!changed.ok()) return changed.failure();
      if (*changed) graphs_.insert(graphs_.begin() + at, std::move(**changed));
      if (!*changed) graphs_.clear();
    }
    imported_.insert(imported_.begin() + at, std::move(*graph));
    points_.insert(points_.begin() + at, point);
    return Done{};
  }

  /// Takes all graphs through the passes. The steps of the first are reported.
  Outcome<Done> run_passes(const ExportOptions& options, ExportReport* report) {
    const Stage stage(options, report, "passes");
    auto graphs = passes_.run(imported_, pass_hooks(options), &report->passes);
    if (!graphs.ok()) return graphs.failure();
    graphs_ = std::move(*graphs);
    return Done{};
  }

  /// As many as there is time and memory for: what is solved has to hold there, too.
  Outcome<Done> add_drawn() {
    constexpr size_t kMost = 40;
    constexpr double kSeconds = 4;
    constexpr size_t kMostBytes = size_t{1} << 29;
    const auto begin = std::chrono::steady_clock::now();
    size_t bytes = 0;
    for (const SizePoint& point : more_points(sizes_.shapes.symbols, kMost, 1)) {
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
      if (spent.count() > kSeconds || bytes > kMostBytes) break;
      if (std::find(points_.begin(), points_.end(), point) != points_.end()) continue;
      LAZYRT_TRY(capture(point));
      bytes += constant_bytes(imported_.front()) + constant_bytes(graphs_.front());
    }
    return Done{};
  }

  /// Captures at more sizes until no number may be one of several functions of them.
  Outcome<DynamicGraph> unify() {
    constexpr int kMostMore = 40;
    for (int more = 0;; ++more) {
      std::optional<SizePoint> wanted;
      auto dynamic = unify_graphs(graphs_, sizes_.shapes, points_, &wanted);
      if (dynamic.ok() || !wanted || !sizes_.capture_at || more == kMostMore) return dynamic;
      if (std::find(points_.begin(), points_.end(), *wanted) != points_.end()) return dynamic;
      if (const auto added = capture(*wanted); !added.ok()) return added.failure();
    }
  }

 private:
  Outcome<Done> capture(const SizePoint& point) {
    auto trace = sizes_.capture_at(point);
    if (!trace.ok()) return trace.failure();
    ExportReport of_this;
    LAZYRT_TRY(add(point, *trace, options_, &of_this));
    if (!graphs_.empty()) return Done{};
    return run_passes(options_, &of_this);  // not as the others so far
  }

  static size_t constant_bytes(const Graph& graph) {
    size_t bytes = 0;
    for (ValueId id = 0; id < static_cast<ValueId>(graph.value_count()); ++id)
      bytes += graph.value(id).constant.bytes;
    return bytes;
  }

  const DynamicExport& sizes_;
  const OpTable& ops_;
  const ExportOptions& options_;
  AlikePasses passes_;
  std::vector<Graph> imported_;
  std::vector<Graph> graphs_;  ///< after the passes; none where these have to run again
  std::vector<SizePoint> points_;
};

/// The program at several sizes as one graph, and that at the sample's.
/// At the corners of the symbols' bounds, of the first eight symbols all, and at some drawn sizes;
/// but for those that the shape rules refuse.
uint64_t find_reserve(const DynamicGraph& dynamic, const MemoryPlan& model,
                      const MemoryPlan& here) {
  const std::vector<DimSymbol>& symbols = dynamic.shapes().symbols;
  constexpr size_t kMostAtCorners = 8, kMorePoints = 8;
  std::vector<SizePoint> points = more_points(symbols, kMorePoints, /*seed=*/1);
  const size_t corners = size_t{1} << std::min(symbols.size(), kMostAtCorners);
  for (size_t corner = 0; corner < corners; ++corner) {
    SizePoint point;
    for (size_t i = 0; i < symbols.size(); ++i)
      point.push_back(i < kMostAtCorners && (corner >> i & 1) != 0 ? symbols[i].min
                                                                   : symbols[i].max);
    points.push_back(point);
  }
  std::vector<MemoryPlan> plans = {here};
  for (const SizePoint& point : points) {
    auto graph = dynamic.at(point);
    if (graph.ok()) plans.push_back(plan_memory(*graph, &model));
  }
  return reserved_arena(plans);
}

Outcome<Variant> make_dynamic(const std::vector<Trace>& traces, const OpTable& ops,
                              const ExportOptions& given, ExportReport* report) {
  const ExportOptions options = for_all_sizes(given);
  ExportOptions others = options;  // whose steps are not told one by one
  others.progress = nullptr;
  others.after_pass = nullptr;
  const DynamicExport& sizes = *options.dynamic;
  SizedGraphs graphs(sizes, ops, others);
  for (size_t k = 0; k < sizes.points.size(); ++k) {
    ExportReport of_this;
    const bool is_first = k == 0;
    LAZYRT_TRY(graphs.add(sizes.points[k], traces[k + 1], is_first ? options : others,
                          is_first ? report : &of_this));
  }
  LAZYRT_TRY(graphs.run_passes(options, report));
  const Stage stage(options, report, "sizes");
  if (sizes.capture_at) LAZYRT_TRY(graphs.add_drawn());
  Variant made;
  auto dynamic = graphs.unify();
  if (!dynamic.ok()) return dynamic.failure();
  constexpr int64_t kMostTried = 1024;
  LAZYRT_TRY(try_shapes(*dynamic, sizes.points[0], kMostTried));
  auto graph = dynamic->at(sizes.sample);
  if (!graph.ok()) return graph.failure();
  graph->sample_inputs = traces[0].sample_inputs;
  graph->sample_outputs = traces[0].sample_outputs;
  const MemoryPlan model = plan_memory(dynamic->model());
  made.plan = plan_stage(*graph, options, report, &model);
  made.reserved_bytes = find_reserve(*dynamic, model, made.plan);
  made.graph = std::move(*graph);
  made.group.trace = traces[0];
  made.group.samples = {0};
  report->size_rules = dynamic->text();
  made.dynamic = std::move(*dynamic);
  return made;
}

ExportedVariant describe(const Variant& variant, const Variant& first) {
  ExportedVariant line;
  line.samples = variant.group.samples;
  line.nodes = variant.graph->nodes().size();
  line.guards = variant.graph->guards().size();
  line.arena_bytes = variant.plan.arena_bytes;
  line.difference = first_difference(first.group.trace, variant.group.trace);
  return line;
}

void collect_notes(const std::vector<Trace>& samples, ExportReport* report) {
  for (const Trace& trace : samples) {
    for (const std::string& note : trace.notes) {
      const auto& known = report->notes;
      if (std::find(known.begin(), known.end(), note) == known.end()) report->notes.push_back(note);
    }
  }
}

}  // namespace

Outcome<ExportReport> export_traces(const std::vector<Trace>& samples, const OpTable& ops,
                                    const ExportOptions& options) {
  auto groups = group_traces(samples);
  if (!groups.ok()) return groups.failure();
  ExportReport report;
  report.shapes = samples[0].shapes;
  collect_notes(samples, &report);
  std::vector<Variant> variants;
  if (options.dynamic) {
    groups->clear();
    auto made = make_dynamic(samples, ops, options, &report);
    if (!made.ok()) return made.failure();
    variants.push_back(std::move(*made));
    report.variants.push_back(describe(variants.back(), variants.front()));
  }
  for (TraceGroup& group : *groups) {
    ExportReport of_this;
    auto made = make_variant(std::move(group), samples, ops, options,
                             variants.empty() ? &report : &of_this);
    if (!made.ok()) return made.failure();
    LAZYRT_TRY(check_reachable(variants, *made));
    report.times.insert(report.times.end(), of_this.times.begin(), of_this.times.end());
    variants.push_back(std::move(*made));
    report.variants.push_back(describe(variants.back(), variants.front()));
  }
  LAZYRT_TRY(write_stage(variants, verdict_of(samples), options, &report));
  list_nodes(*variants[0].graph, &report);
  return report;
}

}  // namespace lazyrt
