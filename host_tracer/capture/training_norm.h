#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace lazyrt {

/// Does calls of norms that update running statistics. Their schemas do not say that they write, so
/// functionalization would lose it: they are made again by operators that do, and end as
/// _native_batch_norm_legit_functional. The statistics must be functional tensors. False: another
/// call; the stack is as it was.
bool record_training_norm(const c10::OperatorHandle& op, torch::jit::Stack* stack);

}  // namespace lazyrt
