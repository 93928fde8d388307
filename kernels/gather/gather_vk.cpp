// Gathers elements by indices: each invocation computes four elements.

#include "kernels/gather/index_vk.h"

namespace lazyrt {

extern const Kernel gather_vk;
extern const Shader gather_shader;

namespace {

Fault supports(const NodeSpec& node) {
  return check_axis_extent(node.inputs[0], node.attrs.as<fb::Gather>().axis());
}

struct Push {
  uint32_t count, axis_step, rank;
  uint32_t extents[kMaxRank], steps[kMaxRank];
  int32_t extent;
  uint32_t error;
};

Fault run(void*, const RunContext& context) {
  Recorder& recorder = recorder_of(context);
  const int axis = context.attrs.as<fb::Gather>().axis();
  const TensorView& x = context.inputs[0];
  const TensorView& index = context.inputs[1];
  const TensorView& y = context.outputs[0];
  if (y.numel() == 0) return {};
  Push push = {};
  push.count = static_cast<uint32_t>(y.numel());
  push.extent = static_cast<int32_t>(x.shape[axis]);
  Strides from = row_major(x.shape);
  push.axis_step = static_cast<uint32_t>(from[axis]);
  from[axis] = 0;
  const LoopNest<2> nest(index.shape, {row_major(index.shape), from});
  push.rank = static_cast<uint32_t>(nest.rank());
  for (int d = 0; d < nest.rank(); ++d) {
    push.extents[d] = static_cast<uint32_t>(nest.extent(d));
    push.steps[d] = static_cast<uint32_t>(nest.stride(1, d));
  }
  LAZYRT_RETURN_IF_ERROR(index_failure(&recorder, "gather", 0, push.extent, &push.error));
  const uint32_t constants[] = {is_wide(index), moved_type(x.dtype)};
  const VulkanOperand operands[] = {reads(x), reads(index), writes(y), recorder.error_word()};
  return recorder.dispatch(gather_shader, constants, operands, push,
                           recorder.linear(quads(push.count)));
}

}  // namespace

const Kernel gather_vk = {supports, nullptr, run, nullptr};

}  // namespace lazyrt
