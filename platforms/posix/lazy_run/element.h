#pragma once

#include <cstdint>

#include "lazyrt/tensor_view.h"

namespace lazyrt::run {

/// Element i as a number; f16 and bf16 are widened, bool is 0 or 1.
double element(const TensorView& tensor, int64_t i);

}  // namespace lazyrt::run
