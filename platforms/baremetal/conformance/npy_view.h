#pragma once

#include "lazyrt/error.h"
#include "lazyrt/span.h"
#include "lazyrt/tensor_view.h"

namespace lazyrt::conformance {

/// The array of a .npy file, in place: version 1, C order, little-endian.
Status view_npy(Span<const uint8_t> file, TensorView* view);

}  // namespace lazyrt::conformance
