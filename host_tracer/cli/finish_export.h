#pragma once

// The steps of an export after capture that the command and the Python package share.

#include <optional>
#include <string>
#include <vector>

#include "host_tracer/exporter.h"
#include "host_tracer/report/loaded_bundle.h"
#include "host_tracer/report/summary.h"
#include "host_tracer/support/outcome.h"
#include "host_tracer/support/partial_file.h"

namespace lazyrt {

/// What passes, plan and writer did, into the summary.
void describe_passes(const ExportReport& report, ExportSummary* summary);

/// What stands in the bundle, whose place will be `path`, and its hash, into the summary.
Outcome<Done> describe_made(const LoadedBundle& bundle, const std::string& path,
                            ExportSummary* summary);

/// The difference that the check found, as a failure ended by `advice`; nothing when there is none.
std::optional<Failure> mismatch_of(const ExportSummary& summary, const std::string& advice);

}  // namespace lazyrt
