#pragma once

// Strided copies on the session's threads, for cpu kernels that only move elements.

#include "kernels/common/copy_rows.h"
#include "runtime/backends/cpu/cpu_backend.h"

namespace lazyrt {

/// As copy_strided, on all threads.
inline void parallel_copy(const CpuServices& cpu, size_t element_bytes, const Shape& shape,
                          void* dst, const Strides& dst_strides, const void* src,
                          const Strides& src_strides) {
  const LoopNest<2> loops(shape, {dst_strides, src_strides});
  const size_t row_cost = static_cast<size_t>(loops.row_length()) * element_bytes / 8 + 8;
  parallel_for(cpu, static_cast<size_t>(loops.rows()), grain_of(row_cost),
               [&](size_t begin, size_t end) {
                 copy_rows(element_bytes, loops, static_cast<int64_t>(begin),
                           static_cast<int64_t>(end), dst, src);
               });
}

}  // namespace lazyrt
