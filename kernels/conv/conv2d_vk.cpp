// conv2d of float32 on Vulkan: pointwise ones are products of matrices, others products whose left
// side is gathered as it is needed; of few channels in a group sums over the window.

#include "kernels/conv/conv_vk.h"

namespace lazyrt {

extern const Kernel conv2d_vk;
extern const Shader conv2d_shader, conv2d_grouped_shader;

namespace {

Fault supports(const NodeSpec& node) {
  const DType type = node.inputs[0].dtype;
  return type == DType::kFloat32 ? Fault() : no_shader("conv2d", type);
}

bool is_product(const fb::Conv2d& a, const Shape& weight) {
  const int pads = a.pad_top() | a.pad_left() | a.pad_bottom() | a.pad_right();
  return weight[1] == 1 && weight[2] == 1 && a.groups() == 1 && a.stride_h() == 1 &&
         a.stride_w() == 1 && pads == 0;
}
/// A tile of a product would mostly be empty.
bool is_grouped(const fb::Conv2d& a, const Shape& weight) {
  return a.groups() > 1 && weight[0] / a.groups() < 24;
}
/// Of the weights as they are packed.
int64_t groups_apart(const fb::Conv2d& a, const Shape& weight) {
  return is_grouped(a, weight) ? 1 : a.groups();
}

Fault prepare(const PrepareContext& context, PreparedKernel* prepared) {
  const TensorSpec& weight = context.node.inputs[1];
  if (weight.constant == nullptr || weight.numel() == 0) return {};
  const auto& a = context.node.attrs.as<fb::Conv2d>();
  return prepare_packed_matrix(
      context, 1, packed_filters(weight.shape, weight.constant, groups_apart(a, weight.shape)),
      prepared);
}

Fault record_product(Recorder& recorder, const ConvPush& conv, const GemmOperands& operands) {
  Gemm gemm = {operands, {}};
  gemm.push.rows = conv.rows;
  gemm.push.columns = conv.columns;
  gemm.push.depth = gemm.push.a_pitch = conv.depth;
  gemm.push.b_pitch = conv.b_pitch;
  gemm.push.flags = conv.flags;
  gemm.push.low = conv.low;
  gemm.push.high = conv.high;
  return record_gemm(recorder, gemm);
}

Fault record_grouped(Recorder& recorder, const ConvPush& push, const VulkanOperand (&operands)[4]) {
  const uint32_t depthwise[] = {push.group_channels == 1 && push.columns == push.groups};
  const uint64_t blocks = uint64_t{push.rows / push.out_width} * ((push.out_width + 3) / 4);
  return recorder.dispatch(conv2d_grouped_shader, depthwise, operands, push,
                           recorder.linear(blocks * ((push.columns + 3) / 4)));
}

Fault run(void* packed, const RunContext& context) {
  Recorder& recorder = recorder_of(context);
  const auto& a = context.attrs.as<fb::Conv2d>();
  const TensorView& weight = context.inputs[1];
  const TensorView& y = context.outputs[0];
  if (y.numel() == 0) return {};
  ConvPush push = conv_push(a, context.inputs[0].shape, weight.shape, y.shape);
  const PackedMatrix matrix = packed_filters(weight.shape, nullptr, groups_apart(a, weight.shape));
  const GemmOperands operands = conv_operands(context, packed, matrix, &push);
  if (is_product(a, weight.shape)) return record_product(recorder, push, operands);
  const bool grouped = is_grouped(a, weight.shape);
  const uint32_t read_at_once = grouped ? push.channels : push.channels | push.group_channels;
  push.flags |= gemm_flags(operands, read_at_once, push.b_pitch, push.y_pitch | push.columns);
  VulkanOperand list[4];
  list_gemm_operands(operands, list);
  if (grouped) return record_grouped(recorder, push, list);
  const GemmTile& tile = choose_gemm_tile(push.rows, push.columns, push.groups);
  const uint64_t tiles = push.groups * tile.count(push.rows, push.columns);
  return recorder.dispatch(conv2d_shader, tile.constants(), list, push,
                           spread_groups(recorder, tiles));
}

}  // namespace

const Kernel conv2d_vk = {supports, prepare, run, nullptr};

}  // namespace lazyrt
