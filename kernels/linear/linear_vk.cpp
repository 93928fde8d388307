// Fully connected layer of float32: a product with the weights, which are transposed once for a
// Program where they are constant.

#include "kernels/common/gemm_vk.h"

namespace lazyrt {

extern const Kernel linear_vk;

namespace {

Fault supports(const NodeSpec& node) { return check_f32("linear", node); }

Fault prepare(const PrepareContext& context, PreparedKernel* prepared) {
  const TensorSpec& weight = context.node.inputs[1];
  const TensorSpec& y = context.node.outputs[0];
  if (y.numel() == 0) return {};
  LAZYRT_RETURN_IF_ERROR(make_gemm_pipelines(context, gemm_shader));
  const auto columns = static_cast<uint64_t>(weight.shape[0]);
  prepared->workspace_bytes = gemm_workspace_bytes(
      context, count_gemm_groups(static_cast<uint64_t>(y.numel()) / columns, columns, 1),
      static_cast<uint64_t>(weight.shape[1]));
  const PackedMatrix matrix = {static_cast<const float*>(weight.constant),
                               static_cast<size_t>(weight.shape[0]),
                               static_cast<size_t>(weight.shape[1])};
  return prepare_packed_matrix(context, 1, matrix, prepared);
}

Fault run(void* packed, const RunContext& context) {
  const auto& a = context.attrs.as<fb::Linear>();
  const TensorView& x = context.inputs[0];
  const TensorView& weight = context.inputs[1];
  const TensorView& bias = operand_or_absent(context.inputs, 2);
  const TensorView& y = context.outputs[0];
  if (y.numel() == 0) return {};
  Gemm gemm;
  GemmPush& push = gemm.push;
  push.columns = static_cast<uint32_t>(weight.shape[0]);
  push.depth = push.a_pitch = push.b_pitch = static_cast<uint32_t>(weight.shape[1]);
  push.rows = static_cast<uint32_t>(y.numel()) / push.columns;
  push.low = a.min();
  push.high = a.max();
  gemm.operands.a = reads(x);
  gemm.operands.b = reads(weight);
  if (packed == nullptr) {
    push.flags = GemmPush::kByDepth;
  } else {
    const PackedMatrix matrix = {nullptr, push.columns, push.depth};
    push.b_pitch = static_cast<uint32_t>(matrix.pitch());
    gemm.operands.b = reads(packed, matrix.bytes());
  }
  if (bias.present()) gemm.operands.bias = reads(bias);
  gemm.operands.y = writes(y);
  return record_gemm(recorder_of(context), gemm, context.workspace);
}

}  // namespace

const Kernel linear_vk = {supports, prepare, run, nullptr};

}  // namespace lazyrt
