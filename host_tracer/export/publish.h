#pragma once

// Traces to a bundle at its place: compiled, checked against the program, described, reported and
// published. The command, the Python package and the C++ front end all end here. Free of LibTorch.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "host_tracer/export/checked_export.h"
#include "host_tracer/report/summary.h"

namespace lazyrt {

struct ExportJob {
  std::string path;         ///< of the bundle; written beside it first, moved there at the very end
  std::string report_path;  ///< of an HTML report, or empty
  /// Their path and emit.shown_path are not read: they are the job's.
  ExportOptions compile;
  DifferentialOptions check;
  std::string unchecked;  ///< what the report says where check.level is kNone: "--check none"
  std::string advice;     ///< ends the text of a bundle that gives something else
  bool keep = false;      ///< publish such a bundle, too, and fail all the same
  /// Called with the path of the bundle that the check has passed, before it is published. May
  /// throw; nothing is left behind then.
  std::function<void(const std::string& path)> checked;
  /// Called after the check, or null: (runs of the program to trace it, its other runs).
  std::function<std::pair<size_t, size_t>()> counts;
};

struct PublishedExport {
  ExportReport exported;
  ExportSummary summary;
};

/// Compiles `traces`, to which the check's captures at other sizes are appended, and checks,
/// reports and publishes the bundle. `summary` knows of the traces what the caller wants to have in
/// the report (describe_traces and more). Fails as export_checked does, with kMismatch where the
/// bundle does not give what the program gives, and with kIo. Nothing is published then (but see
/// `keep`), and a file that was there stays. REQUIRES: !traces->empty().
Outcome<PublishedExport> publish_export(std::vector<Trace>* traces, const ExportJob& job,
                                        ExportSummary summary);

/// The errors of a BROKEN trace with their places and what to do about each, a line for each,
/// behind `what` ("model.pt: the trace"). REQUIRES: verdict kBroken.
Failure broken_failure(const std::string& what, const std::vector<Finding>& findings);

}  // namespace lazyrt
