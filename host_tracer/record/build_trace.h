#pragma once

// From the lazy core's graph to a Trace.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host_tracer/record/capture_node.h"
#include "host_tracer/trace/trace.h"

namespace lazyrt {

struct NamedOutput {
  std::string name;
  torch::lazy::Value value;           ///< empty: the output is None, or a number
  std::optional<SeenNumber> literal;  ///< a number
};

struct BuiltTrace {
  Trace trace;
  std::vector<TraceValueId> extras;  ///< ids of the extra values; kNoTraceValue of empty ones
  std::vector<int64_t> positions;    ///< of each node: calls before it
  std::vector<bool> random;  ///< by value: whether it is a constant that was drawn at random
  std::map<const LeafNode*, TraceValueId> leaves;  ///< all of them
};

/// Returns the part of the graph that outputs and extra values need, in order of execution. All
/// inputs are kept in order, used or not, with their data as samples.
BuiltTrace build_trace(const std::vector<const LeafNode*>& inputs,
                       const std::vector<NamedOutput>& outputs,
                       const std::vector<torch::lazy::Value>& extras);

}  // namespace lazyrt
