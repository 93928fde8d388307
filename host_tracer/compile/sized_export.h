#pragma once

// Turns traces of one program at several sizes into planned programs of all sizes. Internal to the
// exporter.

#include "host_tracer/compile/export_stages.h"

namespace lazyrt {

/// The program at all sizes or, if its path depends on them, one program for each range of one
/// path, that of the sample first.
struct SizedExport {
  std::vector<PlannedVariant> variants;
  std::vector<Trace> more_traces;  ///< ExportReport::more_traces
  std::string doubt;               ///< ExportReport::size_doubt
};

/// `traces`: the sample's, then those at options.dynamic->points, then others. Steps and rules of
/// the first variant are reported. Fails as unify_graphs does where the program differs otherwise
/// than by ranges of symbols.
Outcome<SizedExport> make_sized(const std::vector<Trace>& traces, const OpTable& ops,
                                const ExportOptions& options, ExportReport* report);

}  // namespace lazyrt
