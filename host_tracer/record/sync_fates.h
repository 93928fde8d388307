#pragma once

// What became of the values that were read on the host: guards, checks, baked values, notes.

#include <vector>

#include "host_tracer/record/capture_session.h"
#include "host_tracer/record/compare_traces.h"

namespace lazyrt {

/// Turns the first run into the trace: each value that was read gets its guard or its finding, each
/// difference from a later run its finding; nodes that nothing needs are removed.
Trace settle(CapturedRun run, const std::vector<TraceDifference>& differences);

}  // namespace lazyrt
