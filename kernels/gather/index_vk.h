#pragma once

// Index operands on Vulkan: what index.glsl needs.

#include <cinttypes>

#include "kernels/common/loops_vk.h"
#include "kernels/gather/index_check.h"

namespace lazyrt {

extern const Shader index_check_shader;

/// Refuses an axis with more positions than an int in a shader can count.
inline Fault check_axis_extent(const TensorSpec& x, int axis) {
  if (x.shape[axis] <= INT32_MAX) return {};
  return Fault(Error::kUnsupported, "the axis has %" PRId64 " positions; shaders count to 2^31",
               x.shape[axis]);
}

/// Returns the first specialisation constant of shaders that include index.glsl.
inline uint32_t is_wide(const TensorView& index) { return index.dtype == DType::kInt64; }

/// As Recorder::failure, for indices that are not in [low, high).
inline Fault index_failure(Recorder* recorder, Word op, int64_t low, int64_t high, uint32_t* code) {
  const auto make = [](const ShaderFault& fault, int64_t position, int64_t value) {
    return bad_index(fault.what, value, position, fault.low, fault.high);
  };
  return recorder->failure({make, op, low, high}, code);
}

/// Records only the check that the indices are in [low, extent), for a node whose result has no
/// elements.
inline Fault record_index_check(Recorder* recorder, Word op, const TensorView& index, int32_t low,
                                int32_t extent) {
  struct {
    uint32_t count;
    int32_t low, extent;
    uint32_t error;
  } push = {static_cast<uint32_t>(index.numel()), low, extent, 0};
  if (push.count == 0) return {};
  LAZYRT_RETURN_IF_ERROR(index_failure(recorder, op, low, extent, &push.error));
  const uint32_t constants[] = {is_wide(index)};
  const VulkanOperand operands[] = {reads(index), reads(index), reads(index),
                                    recorder->error_word()};
  return recorder->dispatch(index_check_shader, constants, operands, push,
                            recorder->linear(push.count));
}

}  // namespace lazyrt
