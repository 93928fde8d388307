// conv_transpose2d of float32 on Vulkan.

#include <algorithm>
#include <numeric>

#include "kernels/conv/conv_vk.h"

namespace lazyrt {

extern const Kernel conv_transpose2d_vk;
extern const Shader conv_transpose2d_shader, conv_transpose2d_grouped_shader;

namespace {

Fault supports(const NodeSpec& node) { return check_f32("conv_transpose2d", node); }

Fault prepare(const PrepareContext& context, PreparedKernel* prepared) {
  const TensorSpec& weight = context.node.inputs[1];
  const auto& a = context.node.attrs.as<fb::ConvTranspose2d>();
  if (!is_grouped(a.groups(), weight.shape))
    LAZYRT_RETURN_IF_ERROR(make_gemm_pipelines(context, conv_transpose2d_shader));
  return prepare_packed_matrix(context, 1,
                               packed_filters(weight.shape, weight.constant, a.groups()), prepared);
}

/// Returns the largest number of pixels of y that have the same position within the stride.
uint32_t count_rows(const ConvPush& push) {
  const auto pieces = [](uint32_t size, uint32_t stride) {
    return size / stride + (size % stride != 0);
  };
  return push.images * pieces(push.out_height, push.stride_h) *
         pieces(push.out_width, push.stride_w);
}

Fault run(void* packed, const RunContext& context) {
  Recorder& recorder = recorder_of(context);
  const auto& a = context.attrs.as<fb::ConvTranspose2d>();
  const TensorView& weight = context.inputs[1];
  const TensorView& y = context.outputs[0];
  if (y.numel() == 0) return {};
  ConvPush push = conv_push(a, context.inputs[0].shape, weight.shape, y.shape);
  push.kernel_step_h = push.stride_h / std::gcd(push.stride_h, push.dilation_h);
  push.kernel_step_w = push.stride_w / std::gcd(push.stride_w, push.dilation_w);
  const PackedMatrix matrix = packed_filters(weight.shape, nullptr, a.groups());
  const GemmOperands operands = conv_gemm_operands(context, packed, matrix, &push);
  if (is_grouped(a.groups(), weight.shape))
    return record_grouped(recorder, conv_transpose2d_grouped_shader, push, operands, push.rows);
  push.rows = count_rows(push);
  push.flags |= gemm_flags(operands, push.channels | push.group_channels, push.b_pitch,
                           push.y_pitch | push.columns);
  VulkanOperand list[4];
  list_gemm_operands(operands, list);
  const uint64_t products = uint64_t{push.groups} * std::min(push.stride_h, push.out_height) *
                            std::min(push.stride_w, push.out_width);
  const GemmCut& tile = choose_gemm_tile(recorder.limits(), push.rows, push.columns, products);
  return recorder.dispatch(conv_transpose2d_shader, tile.constants(), list, push,
                           spread_groups(recorder, products * tile.count(push.rows, push.columns)));
}

}  // namespace

const Kernel conv_transpose2d_vk = {supports, prepare, run, nullptr};

}  // namespace lazyrt
