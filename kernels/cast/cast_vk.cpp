// Elements of one type as another.

#include "kernels/common/loops_vk.h"

namespace lazyrt {

extern const Kernel cast_vk;
extern const Shader cast_shader;

namespace {

Fault supports(const NodeSpec& node) {
  for (const DType type : {node.inputs[0].dtype, node.outputs[0].dtype}) {
    if (shader_type(type) == ShaderType::kNone) return no_shader("cast", type);
  }
  return {};
}

struct Push {
  uint32_t count;
};

Fault run(void*, const RunContext& context) {
  Recorder& recorder = recorder_of(context);
  const TensorView& x = context.inputs[0];
  const TensorView& y = context.outputs[0];
  if (y.numel() == 0) return {};
  const uint32_t constants[] = {static_cast<uint32_t>(x.dtype), static_cast<uint32_t>(y.dtype)};
  const VulkanOperand operands[] = {reads(x), writes(y)};
  return recorder.dispatch(cast_shader, constants, operands, Push{static_cast<uint32_t>(y.numel())},
                           recorder.linear(quads(y.numel())));
}

}  // namespace

const Kernel cast_vk = {supports, nullptr, run, nullptr};

}  // namespace lazyrt
