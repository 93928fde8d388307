#pragma once

#include <ATen/core/Tensor.h>

#include "host_tracer/frontends/shared/given_input.h"

namespace lazyrt {

/// The tensor that the caller gives: over its bytes, or normal random numbers (zeros where the
/// dtype is no floating one) from a fixed seed. Throws c10::ValueError naming the input.
at::Tensor given_tensor(const GivenInput& input);

}  // namespace lazyrt
