// tril and triu.

#include <algorithm>

#include "kernels/common/loops_vk.h"

namespace lazyrt {

extern const Kernel triangle_vk;
extern const Shader triangle_shader;

namespace {

Fault supports(const NodeSpec& node) {
  return dtype_size(node.inputs[0].dtype) == 0 ? no_shader("triangle", node.inputs[0].dtype)
                                               : Fault();
}

struct Push {
  uint32_t count;
  uint32_t rows, columns;
  int32_t diagonal;
  uint32_t upper;
};

Fault run(void*, const RunContext& context) {
  Recorder& recorder = recorder_of(context);
  const auto& a = context.attrs.as<fb::Triangle>();
  const TensorView& x = context.inputs[0];
  const TensorView& y = context.outputs[0];
  if (y.numel() == 0) return {};
  // Beyond any column it makes no difference.
  const int64_t diagonal = std::clamp<int64_t>(a.diagonal(), INT32_MIN, INT32_MAX);
  const Push push = {static_cast<uint32_t>(y.numel()), static_cast<uint32_t>(y.shape.back(1)),
                     static_cast<uint32_t>(y.shape.back(0)), static_cast<int32_t>(diagonal),
                     a.upper()};
  const uint32_t constants[] = {moved_type(y.dtype)};
  const VulkanOperand operands[] = {reads(x), writes(y)};
  return recorder.dispatch(triangle_shader, constants, operands, push,
                           recorder.linear(quads(y.numel())));
}

}  // namespace

const Kernel triangle_vk = {supports, nullptr, run, nullptr};

}  // namespace lazyrt
