#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace lazyrt {

class CaptureSession;

/// Does calls whose result's shape depends on values. Those that the graph can hold for a known
/// count (nonzero, masked_select, masks among indices, repeat_interleave) are recorded with the
/// count seen, which is logged as a sync, and a bincount within its least length with a guard of
/// that; of the others (unique) the result enters as a constant, and that is logged. False: the
/// call is none of these, nothing happened.
bool record_value_shaped(CaptureSession& session, const c10::OperatorHandle& op,
                         torch::jit::Stack* stack);

}  // namespace lazyrt
