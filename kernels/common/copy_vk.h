#pragma once

#include <algorithm>

#include "kernels/common/loops_vk.h"

namespace lazyrt {

extern const Shader copy_shader, transpose_shader;

/// One side of a copy: a tensor, the element at the first position of the copied shape, and the
/// strides from there, in elements.
struct CopySide {
  TensorView tensor;
  int64_t first = 0;
  Strides strides;
};

struct CopyPush {
  uint32_t count;
  uint32_t from_first, to_first;
  ShaderLoops<kMaxRank, 2> loops;  ///< strides of `from`, then of `to`
};

/// For `supports` of an operator that only copies elements.
inline Fault copies(const NodeSpec& node) {
  const DType type = node.outputs[0].dtype;
  return dtype_size(type) == 0 ? no_shader("a copy", type) : Fault();
}

struct TransposePush {
  uint32_t rows, columns, batches;
  uint32_t row_step, batch_step;
  uint32_t row_tiles;
};

constexpr int64_t transpose_tiles(int64_t extent) {
  constexpr int64_t kTile = 16;  // as in transpose.comp
  return (extent + kTile - 1) / kTile;
}

/// Returns whether transpose.comp can make the copy: from is contiguous along the last dim but one,
/// and both of the last dims are long enough for tiles. REQUIRES: the result is written in order.
inline bool is_transpose(const LoopNest<2>& nest, DType type, uint32_t most_groups) {
  constexpr int64_t kLeast = 8;
  const int last = nest.rank() - 1;
  if (dtype_size(type) != 4 || last < 1 || last > 2) return false;
  const int64_t rows = nest.extent(last), columns = nest.extent(last - 1);
  return nest.stride(0, last - 1) == 1 && nest.stride(0, last) > 0 && nest.stride(0, 0) > 0 &&
         rows >= kLeast && columns >= kLeast &&
         transpose_tiles(rows) * transpose_tiles(columns) <= most_groups;
}

/// Records the copy as a transpose. REQUIRES: is_transpose(nest), and all of `to` is written, in
/// order.
inline Fault record_transpose(Recorder& recorder, const LoopNest<2>& nest, const CopySide& to,
                              const CopySide& from) {
  const int last = nest.rank() - 1;
  const bool is_batch = last == 2;
  TransposePush push = {static_cast<uint32_t>(nest.extent(last)),
                        static_cast<uint32_t>(nest.extent(last - 1)),
                        is_batch ? static_cast<uint32_t>(nest.extent(0)) : 1,
                        static_cast<uint32_t>(nest.stride(0, last)),
                        is_batch ? static_cast<uint32_t>(nest.stride(0, 0)) : 0,
                        0};
  push.row_tiles = static_cast<uint32_t>(transpose_tiles(push.rows));
  const VulkanGroups groups = {
      push.row_tiles * static_cast<uint32_t>(transpose_tiles(push.columns)),
      std::min(push.batches, recorder.limits().groups), 1};
  const VulkanOperand operands[] = {
      reads(static_cast<uint8_t*>(from.tensor.data) + from.first * 4,
            from.tensor.bytes() - static_cast<uint64_t>(from.first) * 4),
      writes(to.tensor)};
  return recorder.dispatch(transpose_shader, {}, operands, push, groups);
}

/// Copies the element at each position of `shape`; the other elements of `to` keep their values.
inline Fault record_copy(Recorder& recorder, const Shape& shape, const CopySide& to,
                         const CopySide& from) {
  const int64_t count = shape.numel();
  if (count == 0) return {};
  const LoopNest<2> nest(shape, {from.strides, to.strides});
  const size_t size = dtype_size(to.tensor.dtype);
  const bool whole = count == to.tensor.numel();
  const bool is_run =
      nest.rank() == 0 || (nest.rank() == 1 && nest.stride(0, 0) == 1 && nest.stride(1, 0) == 1);
  const auto at = [&](const CopySide& side) { return static_cast<uint64_t>(side.first) * size; };
  const uint64_t bytes = static_cast<uint64_t>(count) * size;
  if (is_run && at(from) % 4 == 0 && at(to) % 4 == 0 && (whole || bytes % 4 == 0)) {
    return recorder.copy(static_cast<uint8_t*>(to.tensor.data) + at(to),
                         static_cast<uint8_t*>(from.tensor.data) + at(from), bytes);
  }
  int64_t in_order = 1;
  bool has_places = !whole;
  for (int d = nest.rank() - 1; d >= 0; --d) {
    has_places = has_places || nest.stride(1, d) != in_order;
    in_order *= nest.extent(d);
  }
  if (!has_places && is_transpose(nest, to.tensor.dtype, recorder.limits().groups))
    return record_transpose(recorder, nest, to, from);
  const CopyPush push = {static_cast<uint32_t>(count), static_cast<uint32_t>(from.first),
                         static_cast<uint32_t>(to.first), ShaderLoops<kMaxRank, 2>(nest)};
  const uint32_t constants[] = {moved_type(to.tensor.dtype), has_places};
  const VulkanOperand operands[] = {reads(from.tensor),
                                    has_places ? updates(to.tensor) : writes(to.tensor)};
  return recorder.dispatch(copy_shader, constants, operands, push, recorder.linear(quads(count)));
}

}  // namespace lazyrt
