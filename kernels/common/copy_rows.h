#pragma once

// Parts of strided copies, for kernels that divide a copy among threads.

#include <cstdint>

#include "kernels/common/copy.h"
#include "kernels/common/strides.h"

namespace lazyrt {

/// Copies rows [first, last). Operand 0 of `loops` is dst, operand 1 is src; both point at index 0.
void copy_rows(size_t element_bytes, const LoopNest<2>& loops, int64_t first, int64_t last,
               void* dst, const void* src);

}  // namespace lazyrt
