#include "host_tracer/compile/exporter.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "host_tracer/compile/sized_export.h"
#include "host_tracer/compile/trace_groups.h"
#include "host_tracer/graph/guards.h"

namespace lazyrt {
namespace {

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

/// Whether a run on the sample of `later` would take `earlier`. Without a sample: whether `earlier`
/// has no guards. States have the first run's content there, so for a later phase this is not
/// known.
Outcome<bool> shadows(const Graph& earlier, const Graph& later) {
  if (!same_input_shapes(earlier, later)) return false;
  if (earlier.guards().empty()) return true;
  if (later.sample_inputs.size() != later.inputs().size()) return false;
  std::vector<HostTensor> inputs;
  for (const SampleTensor& sample : later.sample_inputs) inputs.push_back(host_tensor(sample));
  return guards_hold(earlier, inputs);
}

Outcome<Done> check_reachable(const std::vector<PlannedVariant>& variants,
                              const PlannedVariant& later) {
  for (const PlannedVariant& earlier : variants) {
    if (phase_of(earlier.group.trace) != phase_of(later.group.trace)) continue;
    auto shadowed = shadows(*earlier.graph, *later.graph);
    if (!shadowed.ok()) return shadowed.failure();
    if (!*shadowed) continue;
    return Failure{Error::kInvalidArgument,
                   "sample " + std::to_string(later.group.samples[0] + 1) +
                       " takes another path than sample " +
                       std::to_string(earlier.group.samples[0] + 1) +
                       ", but they cannot be told apart at run time: their inputs have the same "
                       "shapes, and no guard of the earlier one fails. They first differ at " +
                       first_difference(earlier.group.trace, later.group.trace)};
  }
  return Done{};
}

Outcome<Done> write_stage(const std::vector<PlannedVariant>& variants, Verdict verdict,
                          const ExportOptions& options, ExportReport* report) {
  const TimedStage stage(options, report, "write");
  EmitOptions emit = options.emit;
  emit.info.emplace_back(kVerdictKey, verdict_name(verdict));
  const std::string& producer = variants[0].group.trace.producer;
  if (!producer.empty()) emit.info.emplace_back("source", producer);
  for (const std::string& note : report->notes) emit.info.emplace_back("note", note);
  std::vector<MethodVariant> parts;
  for (const PlannedVariant& v : variants) {
    parts.push_back({*v.graph, v.plan, v.more_samples, v.sized ? &v.sized->dynamic : nullptr,
                     v.reserved_bytes});
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

void take_more_traces(ExportReport* report, std::vector<Trace>* traces) {
  auto& more = report->more_traces;
  std::move(more.begin(), more.end(), std::back_inserter(*traces));
  more.clear();
}

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

/// Turns a group of traces into a planned graph. Only the first variant's steps are reported.
Outcome<PlannedVariant> make_variant(TraceGroup group, const std::vector<Trace>& samples,
                                     const OpTable& ops, const ExportOptions& options,
                                     ExportReport* report) {
  PlannedVariant made;
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

ExportedVariant describe(const PlannedVariant& variant, const PlannedVariant& first) {
  ExportedVariant line;
  line.samples = variant.group.samples;
  line.nodes = variant.graph->nodes().size();
  line.guards = variant.graph->guards().size();
  line.arena_bytes = variant.plan.arena_bytes;
  line.sizes = variant.sizes;
  line.difference = first_difference(first.group.trace, variant.group.trace);
  return line;
}

/// See ExportReport::is_other_at.
std::function<Outcome<bool>(const SizePoint&, const Trace&)> comparing_captures(
    const std::vector<PlannedVariant>& variants, const OpTable& ops, const ExportOptions& options) {
  std::vector<std::shared_ptr<const SizedProgram>> programs;
  for (const PlannedVariant& variant : variants) programs.push_back(variant.sized);
  return [programs, &ops, pipeline = options.pipeline](const SizePoint& point,
                                                       const Trace& trace) -> Outcome<bool> {
    for (const auto& program : programs) {
      if (!holds(program->dynamic.shapes().symbols, point)) continue;
      ImportReport report;
      auto own = import_trace(trace, ops, &report, /*any_size=*/true);
      if (!own.ok()) return own.failure();
      auto found = find_size_difference(*program, point, trace, *own, pipeline);
      if (!found.ok()) return found.failure();
      return *found && (*found)->is_sure;
    }
    return false;
  };
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
  std::vector<PlannedVariant> variants;
  if (options.dynamic) {
    groups->clear();
    auto made = make_sized(samples, ops, options, &report);
    if (!made.ok()) return made.failure();
    variants = std::move(made->variants);
    report.more_traces = std::move(made->more_traces);
    report.size_doubt = std::move(made->doubt);
    report.is_other_at = comparing_captures(variants, ops, options);
    for (const PlannedVariant& variant : variants)
      report.variants.push_back(describe(variant, variants.front()));
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
  report.shapes = samples[0].shapes;
  collect_notes(samples, &report);
  LAZYRT_TRY(write_stage(variants, verdict_of(samples), options, &report));
  list_nodes(*variants[0].graph, &report);
  return report;
}

}  // namespace lazyrt
