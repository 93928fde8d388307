#pragma once

// From traces to a published bundle with its report: the part of an export without Python.

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host_tracer/capture/trace.h"
#include "host_tracer/compile/exporter.h"
#include "host_tracer/report/summary.h"
#include "host_tracer/support/outcome.h"

namespace lazyrt {

struct PythonExportOptions {
  std::string path;         ///< of the bundle; written beside it first, moved there at the very end
  std::string model;        ///< what the report calls the model
  std::string report_path;  ///< of an HTML report, or empty
  double trace_seconds = 0;
  CheckLevel check = CheckLevel::kFull;  ///< against the program; a difference is a failure
  /// Called with the bundle's path after the check, before the bundle is published. May throw.
  std::function<void(const std::string& path)> checked;
  /// Called after the check: (captures, calls of eager) so far.
  std::function<std::pair<size_t, size_t>()> counts;
  std::optional<DynamicExport> dynamic;                   ///< see ExportOptions
  bool keep_samples = true;                               ///< in the bundle
  std::vector<std::pair<std::string, std::string>> info;  ///< for the bundle's key/values
  /// Called when a stage begins and as it proceeds. May throw: then no file is left.
  std::function<void(const std::string& stage, int64_t done, int64_t total)> progress;
};

/// Exports, checks and publishes. REQUIRES: !traces.empty().
/// Fails as export_trace does, or if the bundle does not reproduce the sample outputs.
Outcome<ExportSummary> export_from_python(std::vector<Trace> traces,
                                          const PythonExportOptions& options);

}  // namespace lazyrt
