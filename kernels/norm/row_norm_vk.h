#pragma once

// Norms of rows on Vulkan, as layer_norm, rms_norm and group_norm record them.

#include "kernels/common/check.h"
#include "kernels/common/row_vk.h"

namespace lazyrt {

extern const Shader row_norm_shader;

/// The push block of row_norm.comp.
struct RowNormPush {
  RowForm form;
  uint32_t extent;
  float epsilon;
  uint32_t groups, channels, inner;
};

inline Fault record_row_norm(const RunContext& context, const RowNormPush& push, bool centers) {
  Recorder& recorder = recorder_of(context);
  const TensorView& x = context.inputs[0];
  const TensorView& weight = operand_or_absent(context.inputs, 1);
  const TensorView& bias = operand_or_absent(context.inputs, 2);
  const uint32_t constants[] = {centers, weight.present(), bias.present(), push.groups != 0};
  const VulkanOperand operands[] = {reads(x), reads(weight.present() ? weight : x),
                                    reads(bias.present() ? bias : x), writes(context.outputs[0])};
  return recorder.dispatch(row_norm_shader, constants, operands, push,
                           row_groups(recorder, push.form));
}

/// Records a norm over the last `rank` dims.
inline Fault record_trailing_norm(const RunContext& context, int rank, double epsilon,
                                  bool centers) {
  const Shape& shape = context.inputs[0].shape;
  if (shape.numel() == 0) return {};
  int64_t extent = 1;
  for (int i = 0; i < rank; ++i) extent *= shape.back(i);
  return record_row_norm(context,
                         {choose_row_form(extent, 1, shape.numel() / extent),
                          static_cast<uint32_t>(extent), static_cast<float>(epsilon), 0, 1, 1},
                         centers);
}

}  // namespace lazyrt
