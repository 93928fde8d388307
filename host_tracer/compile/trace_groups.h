#pragma once

// Compares several traces of one program: which of them agree, and whether they can be variants of
// one method.

#include <string>
#include <vector>

#include "host_tracer/support/outcome.h"
#include "host_tracer/trace/trace.h"

namespace lazyrt {

/// Traces that agree: one program.
struct TraceGroup {
  Trace trace;                  ///< the first of them
  std::vector<size_t> samples;  ///< which traces they are, ascending
};

/// The first thing in which two traces of one program part, with its source line; empty when they
/// agree: the same nodes, arguments, types, constants, guards and states. Sources, samples,
/// findings and syncs do not count.
std::string first_difference(const Trace& a, const Trace& b);

/// Gives every trace all states that any of them has, in one order. kInvalidArgument names a buffer
/// whose initial content differs.
Outcome<Done> share_states(std::vector<Trace>& traces);

/// Groups in order of their first trace. Every group gets all states that any trace has: a buffer
/// that one path writes is no constant on another. Fails (kInvalidArgument) with what differs where
/// traces have not one interface (number, names and dtypes of inputs and outputs) or begin with
/// other states.
Outcome<std::vector<TraceGroup>> group_traces(const std::vector<Trace>& traces);

}  // namespace lazyrt
