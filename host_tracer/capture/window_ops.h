#pragma once

// Tables that depend on sizes alone (torch.hann_window, torch.fft.rfftfreq): computed on the CPU,
// constants of the trace.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace lazyrt {

class CaptureSession;

/// Does a call of such an operator; false for all others.
bool record_window(CaptureSession& session, const c10::OperatorHandle& op,
                   torch::jit::Stack* stack);

}  // namespace lazyrt
