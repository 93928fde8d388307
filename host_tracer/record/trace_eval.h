#pragma once

// Eager evaluation of traces on the CPU, by LibTorch's own kernels: to check what was captured.

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

#include "host_tracer/support/outcome.h"
#include "host_tracer/trace/trace.h"

namespace lazyrt {

/// The outputs of the trace for CPU inputs, one for each of trace.inputs and of their shapes and
/// dtypes. Outputs that are None are undefined tensors; literals become 0-dim tensors.
Outcome<std::vector<at::Tensor>> evaluate_trace(const Trace& trace,
                                                const std::vector<at::Tensor>& inputs);

/// All that a run of the trace gives.
struct TraceRun {
  std::vector<at::Tensor> outputs;
  std::vector<at::Tensor> guards;  ///< the values of trace.guards, 0-dim
  std::vector<at::Tensor> states;  ///< the new contents of trace.states
  std::vector<at::Tensor> values;  ///< with keep_values: all values that nodes made, by their ids
};

struct TraceEvalOptions {
  /// Floating values are computed in float64: parameters and constants are cast, dtypes in the
  /// calls' arguments exchanged. Inputs and states are the caller's to cast.
  bool in_double = false;
  bool keep_values = false;
  /// Returns other content for each floating operand of a call. May be empty.
  std::function<at::Tensor(const TraceNode&, TraceValueId, const at::Tensor&)> change_operand;
  /// The same for each floating value that a call made.
  std::function<at::Tensor(TraceValueId, const at::Tensor&)> change_result;
  /// Returns other content for each floating parameter, buffer and constant. May be empty.
  std::function<at::Tensor(const at::Tensor&)> change_leaf;
};

/// A run with the values of its guards and states. `states` are the contents at the beginning, one
/// for each of trace.states; empty: those of the first run. The trace is not changed. Fails if a
/// guard does not hold and a later call needs it.
Outcome<TraceRun> run_trace(const Trace& trace, const std::vector<at::Tensor>& inputs,
                            const std::vector<at::Tensor>& states = {},
                            const TraceEvalOptions& options = {});

/// True if every guard has the value that was seen; floating ones within 1e-5 of it.
bool guards_hold(const Trace& trace, const std::vector<at::Tensor>& values);

}  // namespace lazyrt
