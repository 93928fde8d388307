#pragma once

// Calls that a trace cannot hold are replaced by calls that it can. The functions are in ../lower.
// Each record_ function that handles the call pops its arguments, pushes its results and returns
// true; otherwise it leaves the stack unchanged and returns false.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace lazyrt {

/// Handles calls with complex operands or results. Throws for a complex call that it has no
/// replacement for. REQUIRES: the arguments are not functional tensors.
bool record_complex(const c10::OperatorHandle& op, torch::jit::Stack* stack);

/// Returns whether a tensor among the call's arguments is complex.
bool has_complex_operand(const c10::OperatorHandle& op, const torch::jit::Stack& stack);

/// Handles operators that have a formula: backward operators, losses, and other functions that a
/// trace has no operator for. REQUIRES: the arguments are not functional tensors.
bool record_formula(const c10::OperatorHandle& op, torch::jit::Stack* stack);

/// Handles norms that update running statistics. Their schemas do not declare the write, so
/// functionalization would lose it. They are replaced by operators that declare it, and are
/// recorded as _native_batch_norm_legit_functional. REQUIRES: the statistics are functional
/// tensors.
bool record_training_norm(const c10::OperatorHandle& op, torch::jit::Stack* stack);

/// While an object of this class exists, the calls recorded on this thread come from the program or
/// from autograd, not from functionalization, which also calls operators to write views back.
class AskedFor {
 public:
  AskedFor();
  ~AskedFor();
  AskedFor(const AskedFor&) = delete;
  AskedFor& operator=(const AskedFor&) = delete;
  static bool active();
};

}  // namespace lazyrt
