#pragma once

// The lines of an index operand along an axis, which gather and scatter divide among threads: what
// happens in one line does not depend on another.

#include "kernels/common/strides.h"
#include "kernels/gather/index_check.h"
#include "runtime/backends/cpu/cpu_backend.h"

namespace lazyrt {

/// N tensors along the lines of an index operand. Tensor 0 is the index operand; the last one is
/// indexed: its place along the axis is what the index operand says.
template <int N>
struct IndexLines {
  LoopNest<N> loops;     ///< over the lines' first positions
  int64_t extent;        ///< of the index operand along the axis
  int64_t axis_step[N];  ///< of each tensor along the axis; of the last one 0
  bool axis_is_innermost;
};

inline Shape without_axis(Shape shape, int axis) {
  shape[axis] = 1;
  return shape;
}

/// Calls body(offsets, steps, count) for the positions of lines [first, last) of a row of
/// lines.loops: line by line if the axis is the innermost, else position by position, so that
/// neighbours in memory follow each other. Within a line, positions ascend.
template <int N, class Body>
void for_runs(const IndexLines<N>& lines, const int64_t* offset, const int64_t* step, int64_t first,
              int64_t last, const Body& body) {
  int64_t at[N];
  if (lines.axis_is_innermost) {
    for (int64_t line = first; line < last; ++line) {
      for (int n = 0; n < N; ++n) at[n] = offset[n] + line * step[n];
      body(at, lines.axis_step, lines.extent);
    }
    return;
  }
  for (int64_t k = 0; k < lines.extent; ++k) {
    for (int n = 0; n < N; ++n) at[n] = offset[n] + first * step[n] + k * lines.axis_step[n];
    body(at, step, last - first);
  }
}

/// Calls body(offsets, steps, count) for all positions, each thread for lines of its own.
template <int N, class Body>
void parallel_lines(const CpuServices& cpu, const IndexLines<N>& lines, const Body& body) {
  const LoopNest<N>& loops = lines.loops;
  const auto cost = static_cast<size_t>(lines.extent) * 2;
  const auto length = static_cast<size_t>(loops.row_length());
  if (loops.rows() == 1) {
    loops.for_rows(0, 1, [&](const int64_t* offset, int64_t, const int64_t* step) {
      parallel_for(cpu, length, grain_of(cost), [&](size_t begin, size_t end) {
        for_runs(lines, offset, step, static_cast<int64_t>(begin), static_cast<int64_t>(end), body);
      });
    });
    return;
  }
  parallel_for(cpu, static_cast<size_t>(loops.rows()), grain_of(cost * length),
               [&](size_t begin, size_t end) {
                 loops.for_rows(static_cast<int64_t>(begin), static_cast<int64_t>(end),
                                [&](const int64_t* offset, int64_t count, const int64_t* step) {
                                  for_runs(lines, offset, step, 0, count, body);
                                });
               });
}

/// As check_indices, for many at a time. REQUIRES: I is the type of `index`.
template <class I>
Fault check_all_indices(Word op, const TensorView& index, int64_t high) {
  const I* data = index.as<const I>();
  bool outside = false;
  for (int64_t i = 0, n = index.numel(); i < n; ++i) {
    outside |= static_cast<uint64_t>(int64_t{data[i]}) >= static_cast<uint64_t>(high);
  }
  return outside ? check_indices(op, index, 0, high) : Fault();
}

}  // namespace lazyrt
