#pragma once

// Convolutions of float32 on Vulkan: what conv2d and conv_transpose2d share.

#include "kernels/common/gemm_vk.h"

namespace lazyrt {

/// The push block of conv_operands.glsl.
struct ConvPush {
  uint32_t rows, columns, depth;
  uint32_t b_pitch, y_pitch;
  uint32_t flags;
  float low, high;
  uint32_t splits;
  uint32_t groups, images;
  uint32_t height, width, channels, group_channels;
  uint32_t out_height, out_width;
  uint32_t kernel_height, kernel_width;
  uint32_t stride_h, stride_w, dilation_h, dilation_w;
  int32_t pad_top, pad_left;
  uint32_t kernel_step_h, kernel_step_w;
};

/// Returns the push block without the members that conv_gemm_operands sets from the weights'
/// layout. REQUIRES: y has elements.
template <class Attributes>
ConvPush conv_push(const Attributes& a, const Shape& x, const Shape& weight, const Shape& y) {
  const auto u = [](int64_t n) { return static_cast<uint32_t>(n); };
  ConvPush push = {};
  push.rows = u(y[0] * y[1] * y[2]);
  push.depth = u(weight[1] * weight[2] * weight[3]);
  push.y_pitch = u(y[3]);
  push.low = a.min();
  push.high = a.max();
  push.splits = 1;
  push.groups = u(a.groups());
  push.images = u(x[0]);
  push.height = u(x[1]);
  push.width = u(x[2]);
  push.channels = u(x[3]);
  push.group_channels = u(weight[3]);
  push.out_height = u(y[1]);
  push.out_width = u(y[2]);
  push.kernel_height = u(weight[1]);
  push.kernel_width = u(weight[2]);
  push.stride_h = u(a.stride_h());
  push.stride_w = u(a.stride_w());
  push.dilation_h = u(a.dilation_h());
  push.dilation_w = u(a.dilation_w());
  push.pad_top = a.pad_top();
  push.pad_left = a.pad_left();
  return push;
}

/// Returns whether a group has too few channels to fill the tile of a product. Then other shaders
/// compute four channels at a time, whichever groups these belong to.
inline bool is_grouped(int64_t groups, const Shape& weight) {
  return groups > 1 && weight[0] / groups < 24;
}
/// Records `shader`, which includes conv_grouped.glsl, with this many invocations for every four
/// channels of y.
inline Fault record_grouped(Recorder& recorder, const Shader& shader, ConvPush push,
                            const GemmOperands& operands, uint64_t invocations) {
  const uint32_t depthwise[] = {push.group_channels == 1 && push.columns == push.groups};
  push.flags |= gemm_flags(operands, push.channels, push.b_pitch, push.columns);
  VulkanOperand list[4];
  list_gemm_operands(operands, list);
  return recorder.dispatch(shader, depthwise, list, push,
                           recorder.linear(invocations * ((push.columns + 3) / 4)));
}

/// The OHWI weights `from` as products read them: a matrix for each group, or one for all groups
/// where is_grouped.
inline PackedMatrix packed_filters(const Shape& s, const void* from, int64_t groups) {
  const int64_t matrices = is_grouped(groups, s) ? 1 : groups;
  return {static_cast<const float*>(from), static_cast<size_t>(s[0] / matrices),
          static_cast<size_t>(s[1] * s[2] * s[3]), static_cast<size_t>(matrices)};
}

/// Returns the operands, with the weights `packed` as `matrix` or, if `packed` is nullptr, in the
/// tensor's own layout. Sets columns, b_pitch and flags of the push block accordingly.
inline GemmOperands conv_gemm_operands(const RunContext& context, const void* packed,
                                       const PackedMatrix& matrix, ConvPush* push) {
  const TensorView& bias = operand_or_absent(context.inputs, 2);
  GemmOperands operands;
  operands.a = reads(context.inputs[0]);
  if (bias.present()) operands.bias = reads(bias);
  operands.y = writes(context.outputs[0]);
  push->columns = static_cast<uint32_t>(matrix.columns);
  if (packed != nullptr) {
    operands.b = reads(packed, matrix.bytes());
    push->b_pitch = static_cast<uint32_t>(matrix.pitch());
  } else {
    operands.b = reads(context.inputs[1]);
    push->b_pitch = push->depth;
    push->flags = GemmPush::kByDepth;
  }
  return operands;
}

}  // namespace lazyrt
