#pragma once

// Compiles traces into a bundle, checks it against the program, reports and publishes it. The
// command, the Python package and the C++ API share this. Free of LibTorch.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "host_tracer/export/checked_export.h"
#include "host_tracer/report/summary.h"

namespace lazyrt {

struct ExportJob {
  std::string path;         ///< of the bundle; written beside it first, moved there at the end
  std::string report_path;  ///< of an HTML report, or empty
  /// Its path and emit.shown_path are not read: the job's path is used.
  ExportOptions compile;
  DifferentialOptions check;
  std::string unchecked;  ///< what the report says where check.level is kNone: "--check none"
  std::string advice;     ///< last line of the error if the bundle's results differ
  bool keep = false;      ///< publish a bundle whose results differ, although the export fails
  /// Called with the bundle's path after a check that passed, before the bundle is published. May
  /// throw; the bundle is removed then.
  std::function<void(const std::string& path)> checked;
  /// Returns how often the program ran to be traced, and how often otherwise. Called after the
  /// check; may be null.
  std::function<std::pair<size_t, size_t>()> counts;
};

struct PublishedExport {
  ExportReport exported;
  ExportSummary summary;
};

/// Compiles `traces`, checks, reports and publishes the bundle. Appends the check's captures at
/// other sizes to `traces`. `summary` already describes the traces for the report
/// (describe_traces). Fails as export_checked does, with FailureKind::kMismatch if the bundle's
/// results differ from the program's, and with kIo. After a failure nothing is published (but see
/// `keep`), and an existing file stays. REQUIRES: !traces->empty().
Outcome<PublishedExport> publish_export(std::vector<Trace>* traces, const ExportJob& job,
                                        ExportSummary summary);

/// Returns the failure of a BROKEN trace: `what` ("model.pt: the trace"), then each error with its
/// place and what to do about it.
Failure broken_failure(const std::string& what, const std::vector<Finding>& findings);

}  // namespace lazyrt
