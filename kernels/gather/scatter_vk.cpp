// Elements of src combined into a copy of x at indices: each invocation walks one line of the
// indices along the axis.

#include "kernels/gather/index_vk.h"

namespace lazyrt {

extern const Kernel scatter_vk;
extern const Shader scatter_shader;

namespace {

Fault supports(const NodeSpec& node) {
  const auto& a = node.attrs.as<fb::Scatter>();
  const DType type = node.inputs[0].dtype;
  if (a.fn() != fb::ScatterFn::Assign && shader_type(type) == ShaderType::kNone)
    return no_shader("scatter", type);
  return check_axis_extent(node.inputs[0], a.axis());
}

constexpr int kLineRank = kMaxRank - 1;
struct Push {
  ShaderLoops<kLineRank, 2> lines;  ///< in src and y
  uint32_t count, index_step, src_step, y_step;
  int32_t extent;
  uint32_t error;
};

Fault run(void*, const RunContext& context) {
  Recorder& recorder = recorder_of(context);
  const auto& a = context.attrs.as<fb::Scatter>();
  const TensorView& x = context.inputs[0];
  const TensorView& index = context.inputs[1];
  const TensorView& src = context.inputs[2];
  const TensorView& y = context.outputs[0];
  const auto extent = static_cast<int32_t>(x.shape[a.axis()]);
  LAZYRT_RETURN_IF_ERROR(recorder.copy(y.data, x.data, y.bytes()));
  if (index.numel() == 0 || y.numel() == 0)
    return record_index_check(&recorder, "scatter", index, 0, extent);
  const int axis = a.axis();
  const Strides of_src = row_major(src.shape), of_y = row_major(y.shape);
  Shape lines = index.shape;
  lines[axis] = 1;
  const LoopNest<2> nest(lines, {of_src, of_y});
  Push push = {ShaderLoops<kLineRank, 2>(nest),
               static_cast<uint32_t>(index.shape[axis]),
               static_cast<uint32_t>(row_major(index.shape)[axis]),
               static_cast<uint32_t>(of_src[axis]),
               static_cast<uint32_t>(of_y[axis]),
               extent,
               0};
  LAZYRT_RETURN_IF_ERROR(index_failure(&recorder, "scatter", 0, extent, &push.error));
  const bool moves = a.fn() == fb::ScatterFn::Assign;
  const uint32_t constants[] = {is_wide(index),
                                moves ? moved_type(x.dtype) : static_cast<uint32_t>(x.dtype),
                                static_cast<uint32_t>(a.fn())};
  const VulkanOperand operands[] = {updates(y), reads(index), reads(src), recorder.error_word()};
  return recorder.dispatch(scatter_shader, constants, operands, push,
                           recorder.linear(static_cast<uint64_t>(lines.numel())));
}

}  // namespace

const Kernel scatter_vk = {supports, nullptr, run, nullptr};

}  // namespace lazyrt
