#include "host_tracer/frontends/cpp/export_module.h"

#include "host_tracer/check/checked_export.h"
#include "host_tracer/frontends/shared/eager_run.h"
#include "host_tracer/support/partial_file.h"
#include "lazyrt/runtime.h"

namespace lazyrt {
namespace {

std::string errors_of(const Trace& trace) {
  std::string text = "the trace is BROKEN:";
  for (const Finding& finding : trace.findings) {
    if (finding.severity != Severity::kError) continue;
    const std::string where = finding.source.text();
    text += "\n  " + finding.id + ": " + finding.message + (where.empty() ? "" : " at " + where);
  }
  return text;
}

Outcome<ModuleExport> make_checked(std::vector<Trace> traces, const std::string& path,
                                   const std::string& target, const ModuleExportOptions& options) {
  ExportOptions exporter = options.exporter;
  exporter.path = path;
  exporter.emit.shown_path = target;
  DifferentialOptions check = options.check;
  check.pipeline = exporter.pipeline;
  auto made = export_checked(&traces, default_ops(), exporter, check);
  if (!made.ok()) return made.failure();
  if (const std::string& difference = made->checked.difference; !difference.empty()) {
    const std::string& doubt = made->exported.size_doubt;
    return Failure{doubt.empty() ? Error::kInternal : Error::kUnsupported,
                   doubt + (doubt.empty() ? "" : "\nAs it is, ") +
                       "the bundle does not give what the program gives: " + difference};
  }
  return ModuleExport{std::move(made->exported), std::move(made->checked)};
}

Outcome<ModuleExport> export_to(const std::vector<Trace>& traces, const std::string& path,
                                const ModuleExportOptions& options) {
  PartialFile file(path);
  auto made = make_checked(traces, file.path(), path, options);
  if (!made.ok()) return made;
  LAZYRT_TRY(file.publish());
  return made;
}

Failure broken(const Trace& trace) { return {Error::kUnsupported, errors_of(trace)}; }

}  // namespace

Outcome<ModuleExport> export_trace_to(const Trace& trace, const std::string& path,
                                      const ModuleExportOptions& options) {
  if (verdict_of(trace) == Verdict::kBroken) return broken(trace);
  return export_to({trace}, path, options);
}

Outcome<ModuleExport> export_program(const CppProgram& program,
                                     const std::vector<at::Tensor>& example_inputs,
                                     const std::string& path, const ModuleExportOptions& options) {
  auto sample = trace_program(program, example_inputs, options.trace);
  if (!sample.ok()) return sample.failure();
  if (options.dynamic.empty()) return export_trace_to(*sample, path, options);
  if (verdict_of(*sample) == Verdict::kBroken) return broken(*sample);
  SizedCapture capture;
  capture.capture = [&](const std::vector<SampleTensor>& inputs, bool compared) {
    TraceOptions trace = options.trace;
    trace.sample_outputs = trace.sample_outputs && compared;
    trace.keep_program = trace.keep_program && compared;
    return trace_program(program, cloned_inputs(inputs), trace);
  };
  auto sized = capture_sizes(std::move(*sample), options.dynamic, capture);
  if (!sized.ok()) return sized.failure();
  ModuleExportOptions dynamic = options;
  dynamic.exporter.dynamic = sized->dynamic;
  return export_to(sized->traces, path, dynamic);
}

}  // namespace lazyrt
