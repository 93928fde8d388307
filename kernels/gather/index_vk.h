#pragma once

// Index operands on Vulkan: what index.glsl needs.

#include <cinttypes>

#include "kernels/common/loops_vk.h"

namespace lazyrt {

extern const Shader index_check_shader;

/// Refuses an axis with more positions than shaders count as int.
inline Fault check_axis_extent(const TensorSpec& x, int axis) {
  if (x.shape[axis] <= INT32_MAX) return {};
  return Fault(Error::kUnsupported, "the axis has %" PRId64 " positions; shaders count to 2^31",
               x.shape[axis]);
}

/// Returns the first specialisation constant of shaders that include index.glsl.
inline uint32_t is_wide(const TensorView& index) { return index.dtype == DType::kInt64; }

inline Fault index_failure(Recorder* recorder, uint32_t* code) {
  return recorder->failure(Error::kOutOfRange, "an index is outside of its axis", code);
}

/// Records only the check that the indices are in [low, extent), for a node whose result has no
/// elements.
inline Fault record_index_check(Recorder* recorder, const TensorView& index, int32_t low,
                                int32_t extent) {
  struct {
    uint32_t count;
    int32_t low, extent;
    uint32_t error;
  } push = {static_cast<uint32_t>(index.numel()), low, extent, 0};
  if (push.count == 0) return {};
  LAZYRT_RETURN_IF_ERROR(index_failure(recorder, &push.error));
  const uint32_t constants[] = {is_wide(index)};
  const VulkanOperand operands[] = {reads(index), reads(index), reads(index),
                                    recorder->error_word()};
  return recorder->dispatch(index_check_shader, constants, operands, push,
                            recorder->linear(push.count));
}

}  // namespace lazyrt
