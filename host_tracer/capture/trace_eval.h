#pragma once

// Eager evaluation of traces on the CPU, by LibTorch's own kernels: for constants that the program
// asks for, and to check what was captured.

#include <ATen/core/Tensor.h>
#include <torch/csrc/lazy/core/ir.h>

#include <vector>

#include "host_tracer/capture/trace.h"
#include "host_tracer/support/outcome.h"

namespace lazyrt {

/// The outputs of the trace for CPU inputs, one for each of trace.inputs and of their shapes and
/// dtypes. Outputs that are None are undefined tensors; literals become 0-dim tensors.
Outcome<std::vector<at::Tensor>> evaluate_trace(const Trace& trace,
                                                const std::vector<at::Tensor>& inputs);

/// The CPU tensor of a lazy value that depends on constants alone. Throws c10::Error when that
/// would compute with more than a megabyte of operands in one operator.
at::Tensor evaluate_value(const torch::lazy::Value& value);

}  // namespace lazyrt
