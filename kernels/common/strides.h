#pragma once

// Walking tensors: strides, broadcasting, and loop nests that pass their innermost dim as a row.

#include <cstdint>

#include "lazyrt/shape.h"

namespace lazyrt {

/// Elements to step in each dim; may be 0 (broadcast) or negative (flip).
struct Strides {
  int64_t step[kMaxRank] = {};
  int64_t operator[](int i) const { return step[i]; }
  int64_t& operator[](int i) { return step[i]; }
};

/// Strides of a contiguous tensor.
inline Strides row_major(const Shape& shape) {
  Strides s;
  int64_t step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    s[i] = step;
    step *= shape[i];
  }
  return s;
}

/// Strides that walk a contiguous tensor of shape `from` as if it were broadcast to `to`.
/// REQUIRES: from broadcasts to to.
inline Strides broadcast_strides(const Shape& from, const Shape& to) {
  const Strides own = row_major(from);
  const int lead = to.rank() - from.rank();
  Strides s;
  for (int i = lead; i < to.rank(); ++i) s[i] = from[i - lead] == 1 ? 0 : own[i - lead];
  return s;
}

/// Extents before, at and after an axis: a tensor seen as [outer, extent, inner].
struct AxisView {
  int64_t outer = 1;
  int64_t extent = 1;
  int64_t inner = 1;
};
inline AxisView axis_view(const Shape& shape, int axis) {
  AxisView v;
  for (int i = 0; i < axis; ++i) v.outer *= shape[i];
  v.extent = shape[axis];
  for (int i = axis + 1; i < shape.rank(); ++i) v.inner *= shape[i];
  return v;
}

/// A loop over all positions of a shape that keeps N element offsets. Neighbouring dims that every
/// operand walks contiguously are merged, so rows are as long as they can be.
template <int N>
class LoopNest {
 public:
  LoopNest(const Shape& shape, const Strides (&strides)[N]) {
    for (int i = 0; i < shape.rank(); ++i) {
      empty_ = empty_ || shape[i] == 0;
      if (shape[i] != 1) add_dim(shape[i], strides, i);
    }
  }

  /// Calls row(offsets, count, steps) for each row in row-major order; offsets and steps are arrays
  /// of N numbers, in elements.
  template <class Row>
  void for_each_row(Row&& row) const {
    for_rows(0, rows(), row);
  }

  /// The merged dims, for loops that run in shaders.
  int rank() const { return rank_; }
  int64_t extent(int dim) const { return extents_[dim]; }
  int64_t stride(int operand, int dim) const { return strides_[operand][dim]; }

  /// The number of rows, and the length of each.
  int64_t rows() const {
    if (empty_) return 0;
    int64_t n = 1;
    for (int i = 0; i < rank_ - 1; ++i) n *= extents_[i];
    return n;
  }
  int64_t row_length() const { return empty_ ? 0 : rank_ > 0 ? extents_[rank_ - 1] : 1; }

  /// The same for the rows [first, last) only, so that threads can share the loop.
  template <class Row>
  void for_rows(int64_t first, int64_t last, Row&& row) const {
    if (first >= last) return;
    int64_t offsets[N] = {};
    int64_t steps[N] = {};
    int64_t index[kMaxRank] = {};
    seek(first, index, offsets);
    for (int n = 0; n < N && rank_ > 0; ++n) steps[n] = strides_[n][rank_ - 1];
    const int64_t count = row_length();
    for (int64_t i = first; i < last; ++i) {
      row(offsets, count, steps);
      advance(index, offsets);
    }
  }

 private:
  void seek(int64_t row, int64_t (&index)[kMaxRank], int64_t (&offsets)[N]) const {
    for (int i = rank_ - 2; i >= 0; --i) {
      index[i] = row % extents_[i];
      row /= extents_[i];
      for (int n = 0; n < N; ++n) offsets[n] += index[i] * strides_[n][i];
    }
  }

  void add_dim(int64_t extent, const Strides (&strides)[N], int dim) {
    bool merges = rank_ > 0;
    for (int n = 0; n < N && merges; ++n) {
      merges = strides_[n][rank_ - 1] == strides[n][dim] * extent;
    }
    if (!merges) extents_[rank_++] = 1;
    extents_[rank_ - 1] *= extent;
    for (int n = 0; n < N; ++n) strides_[n][rank_ - 1] = strides[n][dim];
  }

  void advance(int64_t (&index)[kMaxRank], int64_t (&offsets)[N]) const {
    for (int i = rank_ - 2; i >= 0; --i) {
      for (int n = 0; n < N; ++n) offsets[n] += strides_[n][i];
      if (++index[i] < extents_[i]) return;
      for (int n = 0; n < N; ++n) offsets[n] -= strides_[n][i] * extents_[i];
      index[i] = 0;
    }
  }

  int rank_ = 0;
  bool empty_ = false;
  int64_t extents_[kMaxRank] = {};
  Strides strides_[N];
};

}  // namespace lazyrt
