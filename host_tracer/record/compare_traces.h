#pragma once

// Two traces of one program, node by node.

#include <optional>
#include <string>
#include <vector>

#include "host_tracer/trace/trace.h"

namespace lazyrt {

/// A number or constant of the first trace that differs in the second one.
struct TraceDifference {
  int32_t node = -1;                    ///< the node of the first trace that uses it; -1: an output
  TraceValueId output = kNoTraceValue;  ///< of an output: its index
  std::string argument;                 ///< schema name of the node's argument
  TraceValueId first_leaf = kNoTraceValue;  ///< the constants; none: literals
  TraceValueId second_leaf = kNoTraceValue;
  std::optional<SeenNumber> first_number;  ///< of a literal, or a constant of one element
  std::optional<SeenNumber> second_number;
  std::string first_text;
  std::string second_text;
};

struct TraceComparison {
  bool same_path = true;  ///< both ran the same operators on the same values, with the same shapes
  int32_t parted_node = -1;  ///< else: the first node of the first trace that differs
  /// In order of the nodes; a constant appears at each of its users.
  std::vector<TraceDifference> differences;
};

/// `random` says which of the first trace's values are constants that were drawn at random: they
/// are not compared.
TraceComparison compare_traces(const Trace& first, const Trace& second,
                               const std::vector<bool>& random);

}  // namespace lazyrt
