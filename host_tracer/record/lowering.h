#pragma once

// How ../lower handles calls that a trace cannot hold: other calls that it can hold are recorded
// instead. Each function that starts with record_ pops the call's arguments and pushes its results;
// false: it does not handle this call, and the stack is unchanged.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace lazyrt {

/// Calls with complex operands or results. Arguments are not functional; throws for a complex call
/// that has no form there.
bool record_complex(const c10::OperatorHandle& op, torch::jit::Stack* stack);

/// True for a call with a complex tensor among its arguments.
bool has_complex_operand(const c10::OperatorHandle& op, const torch::jit::Stack& stack);

/// Operators with a formula: backward ones, losses, and functions that a trace has no operator for.
/// Arguments are not functional.
bool record_formula(const c10::OperatorHandle& op, torch::jit::Stack* stack);

/// Norms that update running statistics. Their schemas do not say that they write, so
/// functionalization would lose it: they are made again by operators that do, and end as
/// _native_batch_norm_legit_functional. The statistics must be functional tensors.
bool record_training_norm(const c10::OperatorHandle& op, torch::jit::Stack* stack);

/// While one lives, the calls recorded on this thread are the program's or autograd's, not those by
/// which functionalization writes views back.
class AskedFor {
 public:
  AskedFor();
  ~AskedFor();
  AskedFor(const AskedFor&) = delete;
  AskedFor& operator=(const AskedFor&) = delete;
  static bool active();
};

}  // namespace lazyrt
