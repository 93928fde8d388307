// softmax and log_softmax of float32 on Vulkan.

#include "kernels/common/row_vk.h"

namespace lazyrt {

extern const Kernel softmax_vk;
extern const Shader softmax_shader;

namespace {

Fault supports(const NodeSpec& node) { return check_f32("softmax", node); }

Fault run(void*, const RunContext& context) {
  Recorder& recorder = recorder_of(context);
  const auto& a = context.attrs.as<fb::Softmax>();
  const TensorView& x = context.inputs[0];
  const TensorView& y = context.outputs[0];
  if (y.numel() == 0) return {};
  const AxisPush push = axis_push(x.shape, a.axis(), choose_row_form);
  const uint32_t constants[] = {a.log(), a.safe()};
  const VulkanOperand operands[] = {reads(x), writes(y)};
  return recorder.dispatch(softmax_shader, constants, operands, push,
                           row_groups(recorder, push.form));
}

}  // namespace

const Kernel softmax_vk = {supports, nullptr, run, nullptr};

}  // namespace lazyrt
