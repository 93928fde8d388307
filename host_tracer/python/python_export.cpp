#include "host_tracer/python/python_export.h"

#include <tuple>

#include "host_tracer/check/checked_export.h"
#include "host_tracer/cli/finish_export.h"
#include "host_tracer/report/html.h"
#include "host_tracer/support/partial_file.h"
#include "lazyrt/runtime.h"

namespace lazyrt {
namespace {

/// Writes the bundle to `path` and runs it beside the programs of the traces.
Outcome<std::unique_ptr<LoadedBundle>> make(std::vector<Trace>* traces,
                                            const PythonExportOptions& options,
                                            const std::string& path, ExportSummary* summary) {
  ExportOptions exporter;
  exporter.path = path;
  exporter.emit.shown_path = options.path;
  exporter.emit.producer = "lazyrt (Python) " LAZYRT_VERSION;
  exporter.emit.strip_samples = !options.keep_samples;
  exporter.emit.info = options.info;
  exporter.progress = options.progress;
  exporter.dynamic = options.dynamic;
  DifferentialOptions differential;
  differential.level = options.check;
  differential.progress = options.progress;
  auto made = export_checked(traces, default_ops(), exporter, differential);
  if (!made.ok()) return made.failure();
  describe_passes(made->exported, summary);
  if (options.check == CheckLevel::kNone) {
    summary->check.unchecked = "check=\"none\"";
    return std::move(made->bundle);
  }
  summary->check = std::move(made->checked);
  summary->seconds.check = summary->check.seconds;
  const auto mismatch = mismatch_of(
      *summary, "either the program does what the capture cannot see, or this is a bug of LazyRT");
  if (mismatch) return *mismatch;
  if (options.checked) options.checked(made->bundle->path());
  return std::move(made->bundle);
}

}  // namespace

Outcome<ExportSummary> export_from_python(std::vector<Trace> traces,
                                          const PythonExportOptions& options) {
  ExportSummary summary;
  summary.model = options.model;
  summary.seconds.trace = options.trace_seconds;
  describe_traces(traces, &summary);
  PartialFile file(options.path);
  const auto bundle = make(&traces, options, file.path(), &summary);
  if (!bundle.ok()) return bundle.failure();
  if (options.counts) std::tie(summary.captures, summary.eager_calls) = options.counts();
  LAZYRT_TRY(describe_made(**bundle, options.path, &summary));
  if (!options.report_path.empty()) {
    LAZYRT_TRY(write_text_file(options.report_path, html_report(summary.bundle, &summary)));
  }
  LAZYRT_TRY(file.publish());
  return summary;
}

}  // namespace lazyrt
