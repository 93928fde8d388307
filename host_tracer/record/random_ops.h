#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <vector>

namespace lazyrt {

class CaptureSession;

/// Handles calls that draw random numbers: reports them ("random"), and records the numbers drawn
/// for the sample as a constant, so that the capture continues. False: the call draws none.
bool record_random(CaptureSession& session, const c10::OperatorHandle& op,
                   torch::jit::Stack* stack);

/// Operators that are kept whole and hide what they do in training are reported: dropout inside of
/// attention and recurrent layers ("random", taken out of the arguments), norms that update running
/// statistics ("training-mode"; taken out where they are not state).
void leave_training_mode(CaptureSession& session, const c10::OperatorHandle& op,
                         std::vector<c10::IValue>& args);

}  // namespace lazyrt
