// Index of the largest or smallest element along an axis on Vulkan.

#include "kernels/common/row_vk.h"

namespace lazyrt {

extern const Kernel arg_reduce_vk;
extern const Shader arg_reduce_f32_shader, arg_reduce_i32_shader, arg_reduce_i64_shader;

namespace {

Fault supports(const NodeSpec& node) { return check_shader_type("arg_reduce", node); }

Fault run(void*, const RunContext& context) {
  Recorder& recorder = recorder_of(context);
  const auto& a = context.attrs.as<fb::ArgReduce>();
  const TensorView& x = context.inputs[0];
  const TensorView& y = context.outputs[0];
  if (y.numel() == 0) return {};
  const AxisPush push = axis_push(x.shape, a.axis(), choose_row_form);
  const uint32_t constants[] = {a.fn() == fb::ArgReduceFn::ArgMin, static_cast<uint32_t>(x.dtype)};
  const VulkanOperand operands[] = {reads(x), writes(y)};
  return recorder.dispatch(
      shader_of(x.dtype, arg_reduce_f32_shader, arg_reduce_i32_shader, arg_reduce_i64_shader),
      constants, operands, push, row_groups(recorder, push.form));
}

}  // namespace

const Kernel arg_reduce_vk = {supports, nullptr, run, nullptr};

}  // namespace lazyrt
