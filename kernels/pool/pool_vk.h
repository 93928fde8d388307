#pragma once

// What the 2-d pools share on Vulkan.

#include "kernels/common/loops_vk.h"

namespace lazyrt {

extern const Shader pool2d_shader;

enum class PoolKind : uint32_t { kMax, kAverage, kAdaptive };

struct PoolPush {
  uint32_t count;
  int32_t height, width;
  uint32_t channels;
  int32_t out_height, out_width;
  int32_t kernel[2], stride[2], before[2], after[2], dilation[2];
  uint32_t counts_padding;
  int32_t divisor;
};

/// Refuses types other than f32, and windows with more positions than shaders count as int.
inline Fault check_pool(const char* op, const TensorSpec& x, const int64_t (&kernel)[2],
                        const int64_t (&dilation)[2]) {
  if (x.dtype != DType::kFloat32) return no_shader(op, x.dtype);
  constexpr int64_t kMost = int64_t{1} << 28;
  for (int i = 0; i < 2; ++i) {
    if ((kernel[i] - 1) * dilation[i] >= kMost)
      return Fault(Error::kUnsupported, "%s: a window of more than 2^28 positions", op);
  }
  return {};
}

template <class Table>
PoolPush pool_push(const Table& a, int32_t dilation_h, int32_t dilation_w) {
  PoolPush push = {};
  push.kernel[0] = a.kernel_h(), push.kernel[1] = a.kernel_w();
  push.stride[0] = a.stride_h(), push.stride[1] = a.stride_w();
  push.before[0] = a.pad_top(), push.before[1] = a.pad_left();
  push.after[0] = a.pad_bottom(), push.after[1] = a.pad_right();
  push.dilation[0] = dilation_h, push.dilation[1] = dilation_w;
  return push;
}

/// Fills in the sizes and records the pool.
inline Fault record_pool(const RunContext& context, PoolKind kind, PoolPush push) {
  Recorder& recorder = recorder_of(context);
  const TensorView& x = context.inputs[0];
  const TensorView& y = context.outputs[0];
  if (y.numel() == 0) return {};
  push.height = static_cast<int32_t>(x.shape[1]);
  push.width = static_cast<int32_t>(x.shape[2]);
  push.channels = static_cast<uint32_t>(x.shape[3]);
  push.out_height = static_cast<int32_t>(y.shape[1]);
  push.out_width = static_cast<int32_t>(y.shape[2]);
  push.count = channel_quads(y.shape);
  const uint32_t constants[] = {static_cast<uint32_t>(kind)};
  const VulkanOperand operands[] = {reads(x), writes(y)};
  return recorder.dispatch(pool2d_shader, constants, operands, push, recorder.linear(push.count));
}

}  // namespace lazyrt
