#pragma once

// What eager checks about a number before it puts it into a tensor.

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace lazyrt {

/// Records a check that the lazy number (0-dim) is within the range of that integer type; unsigned
/// types wrap negative numbers. For other types nothing is checked.
void require_fits(const at::Tensor& number, at::ScalarType type);

/// The same for a call that fills a tensor with the number of another one.
void check_filled_number(const c10::OperatorHandle& op, const torch::jit::Stack& stack);

}  // namespace lazyrt
