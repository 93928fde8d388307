#pragma once

// Calls on complex tensors, split into calls on real ones.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace lazyrt {

/// Does a call that has complex operands or results: pops its arguments (not functional) and pushes
/// its results. False for all other calls; throws for a complex one without a form here.
bool record_complex(const c10::OperatorHandle& op, torch::jit::Stack* stack);

/// True for a call with a complex tensor among its arguments.
bool has_complex_operand(const c10::OperatorHandle& op, const torch::jit::Stack& stack);

}  // namespace lazyrt
