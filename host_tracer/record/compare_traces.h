#pragma once

// Two traces of one program, node by node.

#include <optional>
#include <string>
#include <vector>

#include "host_tracer/trace/trace.h"

namespace lazyrt {

/// A number or constant that the first trace has, and the second has not.
struct TraceDifference {
  int32_t node = -1;                        ///< of the first trace, which uses it; -1: an output
  TraceValueId output = kNoTraceValue;      ///< of an output: its index
  std::string argument;                     ///< schema name of the node's argument
  TraceValueId first_leaf = kNoTraceValue;  ///< the constants; none: literals
  TraceValueId second_leaf = kNoTraceValue;
  std::optional<SeenNumber> first_number;  ///< of a literal, or a constant of one element
  std::optional<SeenNumber> second_number;
  std::string first_text;
  std::string second_text;
};

struct TraceComparison {
  bool same_path = true;     ///< same operators on the same values, of the same shapes
  int32_t parted_node = -1;  ///< else: the first node of the first trace that differs
  std::vector<TraceDifference> differences;  ///< in order of the nodes; a constant at each user
};

/// `random` says of the first trace's values which constants were drawn at random: they are not
/// compared.
TraceComparison compare_traces(const Trace& first, const Trace& second,
                               const std::vector<bool>& random);

}  // namespace lazyrt
