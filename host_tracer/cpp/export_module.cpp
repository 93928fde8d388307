#include "host_tracer/cpp/export_module.h"

#include <utility>

#include "host_tracer/export/publish.h"
#include "host_tracer/frontends/shared/eager_run.h"

namespace lazyrt {
namespace {

Outcome<ModuleExport> export_to(std::vector<Trace> traces, const std::string& path,
                                const ModuleExportOptions& options) {
  ExportSummary summary;
  describe_traces(traces, &summary);
  ExportJob job;
  job.path = path;
  job.compile = options.exporter;
  job.check = options.check;
  auto done = publish_export(&traces, job, std::move(summary));
  if (!done.ok()) return done.failure();
  return ModuleExport{std::move(done->exported), std::move(done->summary.check)};
}

Failure broken(const Trace& trace) { return broken_failure("the trace", trace.findings); }

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
