// Elementwise functions of one operand.

#include "kernels/unary/unary_function.h"
#include "runtime/backends/vulkan/recorder.h"

namespace lazyrt {

extern const Kernel unary_vk;
extern const Shader unary_shader;

namespace {

Fault supports(const NodeSpec& node) {
  const auto& a = node.attrs.as<fb::Unary>();
  if (a.fn() == fb::UnaryFn::Relu && node.inputs[0].dtype == DType::kFloat32) return {};
  return Fault(Error::kUnsupported, "%s of %s has no shader", fb::EnumNameUnaryFn(a.fn()),
               dtype_name(node.inputs[0].dtype));
}

struct Push {
  uint32_t count;
};

Fault run(void*, const RunContext& context) {
  Recorder& recorder = recorder_of(context);
  const TensorView& x = context.inputs[0];
  const TensorView& y = context.outputs[0];
  const auto count = static_cast<uint32_t>(y.numel());
  const uint32_t function[] = {static_cast<uint32_t>(context.attrs.as<fb::Unary>().fn())};
  const VulkanOperand operands[] = {reads(x), writes(y)};
  return recorder.dispatch(unary_shader, function, operands, Push{count}, recorder.linear(count));
}

}  // namespace

const Kernel unary_vk = {supports, nullptr, run, nullptr};

}  // namespace lazyrt
