#pragma once

// Pieces of strided copies, for kernels that share them out among threads.

#include <cstdint>

#include "kernels/common/copy.h"
#include "kernels/common/strides.h"

namespace lazyrt {

/// Rows [first, last) of a copy whose operand 0 is dst and operand 1 src; both point at index 0.
void copy_rows(size_t element_bytes, const LoopNest<2>& loops, int64_t first, int64_t last,
               void* dst, const void* src);

}  // namespace lazyrt
