// Products of matrices with broadcast batch dims.

#include "kernels/common/gemm_vk.h"
#include "kernels/common/strides.h"

namespace lazyrt {

extern const Kernel matmul_vk;
extern const Shader matmul_i32_shader, matmul_i64_shader;

namespace {

Fault supports(const NodeSpec& node) { return check_shader_type("matmul", node); }

Shape batch_of(const Shape& shape) {
  return Shape(Span<const int64_t>(shape.data(), shape.size() - 2));
}

/// Sets the batch dims, the innermost first, and merges neighbours that both operands walk as one.
/// If all batches share one b, those of a become one tall matrix.
void set_batches(const Shape& a, const Shape& b, const Shape& y, GemmPush* push) {
  const Shape batch = batch_of(y);
  const Strides a_steps = broadcast_strides(batch_of(a), batch);
  const Strides b_steps = broadcast_strides(batch_of(b), batch);
  const int64_t a_size = a.back(0) * a.back(1), b_size = b.back(0) * b.back(1);
  uint32_t extents[6] = {1, 1, 1, 1, 1, 1};
  int dims = 0;
  for (int i = batch.rank() - 1; i >= 0; --i) {
    if (batch[i] == 1) continue;
    const auto a_step = static_cast<uint32_t>(a_steps[i] * a_size);
    const auto b_step = static_cast<uint32_t>(b_steps[i] * b_size);
    const bool merges = dims > 0 && a_step == push->a_steps[dims - 1] * extents[dims - 1] &&
                        b_step == push->b_steps[dims - 1] * extents[dims - 1];
    if (!merges) {
      push->a_steps[dims] = a_step;
      push->b_steps[dims++] = b_step;
    }
    extents[dims - 1] *= static_cast<uint32_t>(batch[i]);
    push->batches *= static_cast<uint32_t>(batch[i]);
  }
  for (int d = 0; d < 5; ++d) push->extents[d] = extents[d];
  if (dims == 1 && push->b_steps[0] == 0 && push->a_steps[0] == a_size) {
    push->rows *= push->batches;
    push->batches = 1;
  }
}

/// Records a product of integers; each invocation makes four results.
Fault record_integers(Recorder& recorder, const GemmPush& push, const TensorView& a,
                      const TensorView& b, const TensorView& y) {
  const uint32_t type[] = {static_cast<uint32_t>(y.dtype)};
  const VulkanOperand operands[] = {reads(a.numel() != 0 ? a : y), reads(b.numel() != 0 ? b : y),
                                    writes(y)};
  return recorder.dispatch(y.dtype == DType::kInt64 ? matmul_i64_shader : matmul_i32_shader, type,
                           operands, push, recorder.linear(quads(y.numel())));
}

/// REQUIRES: y has elements.
GemmPush push_of(const OpAttrs& attrs, const Shape& a, const Shape& b, const Shape& y) {
  GemmPush push;
  push.rows = static_cast<uint32_t>(y.back(1));
  push.columns = static_cast<uint32_t>(y.back(0));
  push.depth = push.a_pitch = static_cast<uint32_t>(a.back(0));
  push.b_pitch = static_cast<uint32_t>(b.back(0));
  set_batches(a, b, y, &push);
  if (attrs.as<fb::MatMul>().transpose_b()) push.flags = GemmPush::kByDepth;
  return push;
}

Fault prepare(const PrepareContext& context, PreparedKernel* prepared) {
  const NodeSpec& node = context.node;
  const TensorSpec& y = node.outputs[0];
  if (y.numel() == 0 || y.dtype != DType::kFloat32) return {};
  const GemmPush push = push_of(node.attrs, node.inputs[0].shape, node.inputs[1].shape, y.shape);
  prepared->workspace_bytes = gemm_workspace_bytes(
      context, count_gemm_groups(push.rows, push.columns, push.batches), push.depth);
  return make_gemm_pipelines(context, gemm_shader);
}

Fault run(void*, const RunContext& context) {
  const TensorView& a = context.inputs[0];
  const TensorView& b = context.inputs[1];
  const TensorView& y = context.outputs[0];
  if (y.numel() == 0) return {};
  Gemm gemm;
  gemm.push = push_of(context.attrs, a.shape, b.shape, y.shape);
  if (a.dtype != DType::kFloat32) return record_integers(recorder_of(context), gemm.push, a, b, y);
  gemm.operands.a = reads(a);
  gemm.operands.b = reads(b);
  gemm.operands.y = writes(y);
  return record_gemm(recorder_of(context), gemm, context.workspace);
}

}  // namespace

const Kernel matmul_vk = {supports, prepare, run, nullptr};

}  // namespace lazyrt
