#pragma once

// A bundle is written, loaded and checked against its program: the part of an export that all front
// ends share. Free of LibTorch types.

#include <memory>
#include <vector>

#include "host_tracer/check/differential_check.h"
#include "host_tracer/compile/exporter.h"
#include "host_tracer/report/check_report.h"
#include "host_tracer/report/loaded_bundle.h"
#include "host_tracer/support/outcome.h"

namespace lazyrt {

struct CheckedExport {
  ExportReport exported;
  std::unique_ptr<LoadedBundle> bundle;
  CheckReport checked;
};

/// export_traces and check_bundle. Where extents vary and all is checked, the bundle also runs
/// beside the program at more sizes (sweep_sizes); where they part, the program is captured
/// there (options.dynamic->capture_at) and compared as elsewhere, and where that shows a difference
/// the bundle is made again of these captures, too: the sizes become a range of their own, or the
/// export fails by line. A difference that the check finds is no failure here: CheckReport has it.
/// Appends to `traces` what was captured meanwhile. Fails with the place's file as export_traces,
/// LoadedBundle::open and check_bundle do, and with kUnsupported where sizes keep parting.
/// check.sizes is not read.
Outcome<CheckedExport> export_checked(std::vector<Trace>* traces, const OpTable& ops,
                                      const ExportOptions& options,
                                      const DifferentialOptions& check);

}  // namespace lazyrt
