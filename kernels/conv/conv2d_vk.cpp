// conv2d of float32 on Vulkan. A pointwise convolution is a product of matrices. With few channels
// in a group, each result is a sum over its window; else a product whose left side is gathered as
// it is needed.

#include "kernels/conv/conv_vk.h"

namespace lazyrt {

extern const Kernel conv2d_vk;
extern const Shader conv2d_shader, conv2d_grouped_shader;

namespace {

Fault supports(const NodeSpec& node) { return check_f32("conv2d", node); }

bool is_product(const fb::Conv2d& a, const Shape& weight) {
  const int pads = a.pad_top() | a.pad_left() | a.pad_bottom() | a.pad_right();
  return weight[1] == 1 && weight[2] == 1 && a.groups() == 1 && a.stride_h() == 1 &&
         a.stride_w() == 1 && pads == 0;
}

/// Returns the number of workgroups with the smallest tile. REQUIRES: not is_grouped.
uint64_t count_groups(const fb::Conv2d& a, const Shape& weight, const Shape& y) {
  const auto rows = static_cast<uint64_t>(y[0] * y[1] * y[2]);
  const auto columns = static_cast<uint64_t>(weight[0] / a.groups());
  if (is_product(a, weight)) return count_gemm_groups(rows, columns, 1);
  return kSmallestTile.count(rows, columns) * static_cast<uint64_t>(a.groups());
}

Fault prepare(const PrepareContext& context, PreparedKernel* prepared) {
  const TensorSpec& weight = context.node.inputs[1];
  const TensorSpec& y = context.node.outputs[0];
  const auto& a = context.node.attrs.as<fb::Conv2d>();
  if (y.numel() != 0 && !is_grouped(a.groups(), weight.shape)) {
    const Shape& s = weight.shape;
    prepared->workspace_bytes = gemm_workspace_bytes(context, count_groups(a, s, y.shape),
                                                     static_cast<uint64_t>(s[1] * s[2] * s[3]));
    LAZYRT_RETURN_IF_ERROR(
        make_gemm_pipelines(context, is_product(a, s) ? gemm_shader : conv2d_shader));
  }
  return prepare_packed_matrix(context, 1,
                               packed_filters(weight.shape, weight.constant, a.groups()), prepared);
}

Fault record_product(Recorder& recorder, const ConvPush& conv, const GemmOperands& operands,
                     void* workspace) {
  Gemm gemm;
  gemm.operands = operands;
  gemm.push.rows = conv.rows;
  gemm.push.columns = conv.columns;
  gemm.push.depth = gemm.push.a_pitch = conv.depth;
  gemm.push.b_pitch = conv.b_pitch;
  gemm.push.flags = conv.flags;
  gemm.push.low = conv.low;
  gemm.push.high = conv.high;
  return record_gemm(recorder, gemm, workspace);
}

/// Records products with a gathered left side.
Fault record_windows(Recorder& recorder, ConvPush push, const GemmOperands& operands,
                     void* workspace) {
  const GemmSumPush sum = {0, push.y_pitch, push.splits, 0, push.low, push.high};
  const GemmOperands parts = to_parts(operands, push.splits, workspace);
  if (push.splits > 1) {
    push.low = -std::numeric_limits<float>::infinity();
    push.high = std::numeric_limits<float>::infinity();
  }
  push.flags |= gemm_flags(parts, push.channels | push.group_channels, push.b_pitch,
                           push.y_pitch | push.columns);
  VulkanOperand list[4];
  list_gemm_operands(parts, list);
  const GemmCut& tile = choose_gemm_tile(recorder.limits(), push.rows, push.columns, push.groups);
  const uint64_t tiles = push.groups * tile.count(push.rows, push.columns) * push.splits;
  LAZYRT_RETURN_IF_ERROR(recorder.dispatch(conv2d_shader, tile.constants(), list, push,
                                           spread_groups(recorder, tiles)));
  return push.splits == 1 ? Fault() : record_gemm_sum(recorder, operands, sum, workspace);
}

Fault run(void* packed, const RunContext& context) {
  Recorder& recorder = recorder_of(context);
  const auto& a = context.attrs.as<fb::Conv2d>();
  const TensorView& weight = context.inputs[1];
  const TensorView& y = context.outputs[0];
  if (y.numel() == 0) return {};
  ConvPush push = conv_push(a, context.inputs[0].shape, weight.shape, y.shape);
  const PackedMatrix matrix = packed_filters(weight.shape, nullptr, a.groups());
  const GemmOperands operands = conv_gemm_operands(context, packed, matrix, &push);
  if (is_product(a, weight.shape))
    return record_product(recorder, push, operands, context.workspace);
  if (is_grouped(a.groups(), weight.shape)) {
    const uint64_t blocks = uint64_t{push.rows / push.out_width} * ((push.out_width + 3) / 4);
    return record_grouped(recorder, conv2d_grouped_shader, push, operands, blocks);
  }
  push.splits =
      choose_gemm_splits(recorder.limits(), count_groups(a, weight.shape, y.shape), push.depth);
  return record_windows(recorder, push, operands, context.workspace);
}

}  // namespace

const Kernel conv2d_vk = {supports, prepare, run, nullptr};

}  // namespace lazyrt
