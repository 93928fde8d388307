#pragma once

// What became of the values that left the graph: guards, checks, baked values, notes.

#include <vector>

#include "host_tracer/record/capture_session.h"
#include "host_tracer/record/compare_traces.h"

namespace lazyrt {

/// Turns the first run into the trace: each value that left gets its guard or its finding, each
/// difference to a later run its finding; what nothing needs is taken out.
Trace settle(CapturedRun run, const std::vector<TraceDifference>& differences);

}  // namespace lazyrt
