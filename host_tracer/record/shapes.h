#pragma once

// Result shapes of ATen calls on lazy tensors, without computing the results.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <torch/csrc/lazy/core/shape.h>

#include <optional>
#include <vector>

#include "host_tracer/trace/trace.h"

namespace lazyrt {

/// One returned value: tensors (one, or a list's elements; nullopt is an undefined tensor), or a
/// plain value (a number that an operator returns beside tensors).
struct ResultShape {
  bool is_list = false;
  bool is_tensor = true;
  std::vector<std::optional<torch::lazy::Shape>> tensors;
  c10::IValue plain;
};

/// Shapes of all returns of `op` called with `args` (lazy or CPU tensors). Tries our rules, then
/// the operator on meta tensors, then small data on the CPU; counts which in `stats`. Throws
/// c10::Error when the call is wrong, or when no way is left (naming the operator).
std::vector<ResultShape> infer_shapes(const c10::OperatorHandle& op,
                                      const std::vector<c10::IValue>& args, ShapeStats& stats);

}  // namespace lazyrt
