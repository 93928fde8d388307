#pragma once

// Which value of the trace a value of the graph holds, in which form: so that what a bundle
// computes can be compared with what eager does, node by node.

#include <vector>

#include "host_tracer/trace/trace.h"

namespace lazyrt {

class Graph;

/// A value of the trace whose elements were moved, in these steps.
struct Origin {
  struct Step {
    bool permutes = false;  ///< `dims` is a permutation, else the new shape
    std::vector<int64_t> dims;
  };
  TraceValueId value = kNoTraceValue;  ///< kNoTraceValue: no value of the trace, or not known
  std::vector<Step> steps;

  bool is_known() const { return value != kNoTraceValue; }
  Origin permuted(const std::vector<int32_t>& perm) const;
  Origin reshaped(const std::vector<int64_t>& shape) const;
};

/// Completes origins across permutes and reshapes: if the origin of the operand is known, so is
/// that of the result, and the other way round.
void complete_origins(Graph& graph);

}  // namespace lazyrt
