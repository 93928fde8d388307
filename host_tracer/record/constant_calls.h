#pragma once

// Calls that no input, state or random number reaches, computed at export.

#include <functional>
#include <set>
#include <string>

#include "host_tracer/support/outcome.h"
#include "host_tracer/trace/trace.h"

namespace lazyrt {

/// Computes, by ATen, the chosen calls that depend on constants alone. Parameters and buffers count
/// as constants unless the program writes them, in this trace or (`written`, names) in another one.
/// The results become constants of the trace, and a note says so. Fails with ATen's error.
Outcome<Done> compute_constant_calls(Trace* trace, const std::set<std::string>& written,
                                     const std::function<bool(const TraceNode&)>& is_chosen);

}  // namespace lazyrt
