// Resizing of images, NHWC.

#include "kernels/common/loops_vk.h"
#include "kernels/upsample/upsample_taps.h"

namespace lazyrt {

extern const Kernel upsample2d_vk;
extern const Shader upsample2d_shader;

namespace {

Fault supports(const NodeSpec& node) { return check_f32("upsample2d", node); }

struct Push {
  uint32_t count, channels;
  int32_t height, width;
  uint32_t out_height, out_width;
  float step[2];
  uint32_t keeps[2];
  uint32_t align_corners;
};

Fault run(void*, const RunContext& context) {
  Recorder& recorder = recorder_of(context);
  const auto& a = context.attrs.as<fb::Upsample2d>();
  const TensorView& x = context.inputs[0];
  const TensorView& y = context.outputs[0];
  if (y.numel() == 0) return {};
  const ResizedAxis<float> axes[] = {resized_axis<float>(a, x.shape[1], y.shape[1], a.scale_h()),
                                     resized_axis<float>(a, x.shape[2], y.shape[2], a.scale_w())};
  Push push = {};
  push.channels = static_cast<uint32_t>(x.shape[3]);
  push.height = static_cast<int32_t>(x.shape[1]);
  push.width = static_cast<int32_t>(x.shape[2]);
  push.out_height = static_cast<uint32_t>(y.shape[1]);
  push.out_width = static_cast<uint32_t>(y.shape[2]);
  push.align_corners = axes[0].align_corners ? 1 : 0;
  for (int d = 0; d < 2; ++d) {
    push.step[d] = axes[d].step;
    push.keeps[d] = axes[d].keeps ? 1 : 0;
  }
  push.count = channel_quads(y.shape);
  const uint32_t constants[] = {static_cast<uint32_t>(a.mode())};
  const VulkanOperand operands[] = {reads(x), writes(y)};
  return recorder.dispatch(upsample2d_shader, constants, operands, push,
                           recorder.linear(push.count));
}

}  // namespace

const Kernel upsample2d_vk = {supports, nullptr, run, nullptr};

}  // namespace lazyrt
