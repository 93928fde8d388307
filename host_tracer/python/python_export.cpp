#include "host_tracer/python/python_export.h"

#include <utility>

#include "host_tracer/export/publish.h"

namespace lazyrt {

Outcome<ExportSummary> export_from_python(std::vector<Trace> traces,
                                          const PythonExportOptions& options) {
  ExportSummary summary;
  summary.model = options.model;
  summary.seconds.trace = options.trace_seconds;
  describe_traces(traces, &summary);
  ExportJob job;
  job.path = options.path;
  job.report_path = options.report_path;
  job.compile.emit.producer = "lazyrt (Python) " LAZYRT_VERSION;
  job.compile.emit.strip_samples = !options.keep_samples;
  job.compile.emit.info = options.info;
  job.compile.progress = options.progress;
  job.compile.dynamic = options.dynamic;
  job.check.level = options.check;
  job.check.progress = options.progress;
  job.unchecked = "check=\"none\"";
  job.advice = "either the program does what the capture cannot see, or this is a bug of LazyRT";
  job.checked = options.checked;
  job.counts = options.counts;
  auto done = publish_export(&traces, job, std::move(summary));
  if (!done.ok()) return done.failure();
  return std::move(done->summary);
}

}  // namespace lazyrt
