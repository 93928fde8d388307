#pragma once

#include "kernels/common/loops_vk.h"

namespace lazyrt {

extern const Shader copy_shader;

/// One side of a copy: a tensor, and where in it a position of the shape is, in elements.
struct CopySide {
  TensorView tensor;
  int64_t first = 0;
  Strides strides;
};

struct CopyPush {
  uint32_t count;
  uint32_t rank;
  uint32_t from_first, to_first;
  uint32_t extents[kMaxRank];
  uint32_t strides[2][kMaxRank];  ///< from, to
};

inline Fault copies(const NodeSpec& node) {
  const DType type = node.outputs[0].dtype;
  return dtype_size(type) == 0 ? no_shader("a copy", type) : Fault();
}

/// Copies each position of `shape`. Of `to` nothing else is written.
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
  const ShaderLoops<kMaxRank, 2> loops(nest);
  CopyPush push = {static_cast<uint32_t>(count),    loops.rank, static_cast<uint32_t>(from.first),
                   static_cast<uint32_t>(to.first), {},         {}};
  int64_t in_order = 1;
  bool has_places = !whole;
  for (int d = nest.rank() - 1; d >= 0; --d) {
    has_places = has_places || nest.stride(1, d) != in_order;
    in_order *= nest.extent(d);
  }
  for (int d = 0; d < kMaxRank; ++d) {
    push.extents[d] = loops.extents[d];
    for (int n = 0; n < 2; ++n) push.strides[n][d] = loops.strides[n][d];
  }
  const uint32_t constants[] = {moved_type(to.tensor.dtype), has_places};
  const VulkanOperand operands[] = {reads(from.tensor),
                                    has_places ? updates(to.tensor) : writes(to.tensor)};
  return recorder.dispatch(copy_shader, constants, operands, push, recorder.linear(quads(count)));
}

}  // namespace lazyrt
