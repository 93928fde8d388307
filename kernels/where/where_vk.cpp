// condition ? a : b.

#include "kernels/common/loops_vk.h"

namespace lazyrt {

extern const Kernel where_vk;
extern const Shader where_shader;

namespace {

/// The most dims that do not merge for which the push constants have room.
constexpr int kMostDims = 6;

LoopNest<3> loops_of(const Shape& y, const Shape& c, const Shape& a, const Shape& b) {
  return LoopNest<3>(y,
                     {broadcast_strides(c, y), broadcast_strides(a, y), broadcast_strides(b, y)});
}

Fault supports(const NodeSpec& node) {
  const auto& in = node.inputs;
  if (dtype_size(in[1].dtype) == 0) return no_shader("where", in[1].dtype);
  if (node.outputs[0].numel() == 0) return {};
  const int rank = loops_of(node.outputs[0].shape, in[0].shape, in[1].shape, in[2].shape).rank();
  if (rank <= kMostDims) return {};
  return Fault(Error::kUnsupported,
               "where over %d dims that do not merge; the shader has room for %d", rank, kMostDims);
}

struct Push {
  uint32_t count;
  ShaderLoops<kMostDims, 3> loops;
};

Fault run(void*, const RunContext& context) {
  Recorder& recorder = recorder_of(context);
  const auto& in = context.inputs;
  const TensorView& y = context.outputs[0];
  if (y.numel() == 0) return {};
  const LoopNest<3> nest = loops_of(y.shape, in[0].shape, in[1].shape, in[2].shape);
  const Push push = {static_cast<uint32_t>(y.numel()), ShaderLoops<kMostDims, 3>(nest)};
  const uint32_t constants[] = {moved_type(y.dtype)};
  const VulkanOperand operands[] = {reads(in[0]), reads(in[1]), reads(in[2]), writes(y)};
  return recorder.dispatch(where_shader, constants, operands, push,
                           recorder.linear(quads(y.numel())));
}

}  // namespace

const Kernel where_vk = {supports, nullptr, run, nullptr};

}  // namespace lazyrt
