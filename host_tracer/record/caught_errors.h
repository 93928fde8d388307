#pragma once

// Errors of eager that the program catches: they decide its path even if it reads nothing of the
// call.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace lazyrt {

class CaptureSession;

/// Where the program goes on after an error (CaptureRequest::is_caught): a guard on what decides
/// whether eager raises in this call (an index outside of its dim, a divisor of 0). Throws as eager
/// does where it raises on the sample. Leaves the stack as it is.
void guard_caught_errors(CaptureSession& session, const c10::OperatorHandle& op,
                         const torch::jit::Stack& stack);

}  // namespace lazyrt
