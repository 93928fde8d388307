#pragma once

#include <vector>

#include "host_tracer/trace/trace.h"

namespace lazyrt {

/// By value: whether it is a root or roots are computed from it. kNoTraceValue among the roots is
/// skipped.
std::vector<bool> live_values(const Trace& trace, const std::vector<TraceValueId>& roots);

/// What a bundle needs for sure: outputs and states.
std::vector<TraceValueId> result_roots(const Trace& trace);

/// Removes what outputs, guards and states do not need, and renumbers what stays in the same order.
/// Inputs stay.
void prune_trace(Trace& trace);

}  // namespace lazyrt
