#pragma once

// What eager asks of a number before it puts it into a tensor.

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace lazyrt {

/// A check that the lazy number (0-dim) is within the range of that whole type; unsigned types wrap
/// negative ones. Of other types nothing is asked.
void require_fits(const at::Tensor& number, at::ScalarType type);

/// The same of a call that fills a tensor with the number of another one.
void check_filled_number(const c10::OperatorHandle& op, const torch::jit::Stack& stack);

}  // namespace lazyrt
