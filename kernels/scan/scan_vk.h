#pragma once

// Running folds along an axis on Vulkan, as cum_sum and scan record them.

#include "kernels/common/row_vk.h"

namespace lazyrt {

extern const Shader scan_f32_shader, scan_i32_shader, scan_i64_shader;

/// The functions of scan.glsl: those of fb::ScanFn, and the sum.
constexpr uint32_t kScanSum = 4;

/// Short rows, and rows that lie side by side, are walked by one invocation each.
inline RowForm choose_scan_form(int64_t extent, int64_t inner, int64_t rows) {
  const uint32_t log2 = inner >= 16 || extent <= 16 ? 0 : extent > 256 ? 7 : 5;
  return {static_cast<uint32_t>(rows), log2, 0};
}

inline Fault record_scan(const RunContext& context, uint32_t function, int axis) {
  Recorder& recorder = recorder_of(context);
  const TensorView& x = context.inputs[0];
  const TensorView& y = context.outputs[0];
  if (y.numel() == 0) return {};
  const AxisPush push = axis_push(x.shape, axis, choose_scan_form);
  const uint32_t constants[] = {function, static_cast<uint32_t>(x.dtype)};
  const VulkanOperand operands[] = {reads(x), updates(y)};
  return recorder.dispatch(shader_of(x.dtype, scan_f32_shader, scan_i32_shader, scan_i64_shader),
                           constants, operands, push, row_groups(recorder, push.form));
}

}  // namespace lazyrt
