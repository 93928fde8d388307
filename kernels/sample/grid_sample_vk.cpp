// Images and volumes, channels last, read at computed positions.

#include "kernels/common/loops_vk.h"

namespace lazyrt {

extern const Kernel grid_sample_vk;
extern const Shader grid_sample_shader;

namespace {

Fault supports(const NodeSpec& node) { return check_f32("grid_sample", node); }

struct Push {
  uint32_t count, channels, points;
  int32_t extents[3];
  uint32_t padding, align_corners;
};

Fault run(void*, const RunContext& context) {
  Recorder& recorder = recorder_of(context);
  const auto& a = context.attrs.as<fb::GridSample>();
  const TensorView& x = context.inputs[0];
  const TensorView& grid = context.inputs[1];
  const TensorView& y = context.outputs[0];
  if (y.numel() == 0) return {};
  const bool is_volume = x.shape.rank() == 5;
  const auto channels = static_cast<uint32_t>(y.shape.back(0));
  const auto points = static_cast<uint32_t>(y.numel()) / channels;
  const Push push = {channel_quads(y.shape),
                     channels,
                     points / static_cast<uint32_t>(y.shape[0]),
                     {is_volume ? static_cast<int32_t>(x.shape[1]) : 1,
                      static_cast<int32_t>(x.shape.back(2)), static_cast<int32_t>(x.shape.back(1))},
                     static_cast<uint32_t>(a.padding()),
                     a.align_corners() ? 1U : 0U};
  const uint32_t constants[] = {static_cast<uint32_t>(a.mode()), is_volume};
  const VulkanOperand operands[] = {reads(x), reads(grid), writes(y)};
  return recorder.dispatch(grid_sample_shader, constants, operands, push,
                           recorder.linear(push.count));
}

}  // namespace

const Kernel grid_sample_vk = {supports, nullptr, run, nullptr};

}  // namespace lazyrt
