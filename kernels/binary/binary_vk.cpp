// Elementwise functions of two operands.

#include "kernels/binary/binary_function.h"
#include "kernels/common/loops_vk.h"

namespace lazyrt {

extern const Kernel binary_vk;
extern const Shader binary_f32_shader, binary_i32_shader, binary_i64_shader;

namespace {

Fault supports(const NodeSpec& node) {
  if (shader_type(node.inputs[0].dtype) == ShaderType::kNone)
    return no_shader(fb::EnumNameBinaryFn(node.attrs.as<fb::Binary>().fn()), node.inputs[0].dtype);
  return {};
}

struct Push {
  uint32_t count;
  uint32_t rank;
  uint32_t failure;
  uint32_t extents[kMaxRank];
  uint32_t strides[2][kMaxRank];
};

Fault run(void*, const RunContext& context) {
  Recorder& recorder = recorder_of(context);
  const fb::BinaryFn fn = context.attrs.as<fb::Binary>().fn();
  const TensorView& a = context.inputs[0];
  const TensorView& b = context.inputs[1];
  const TensorView& y = context.outputs[0];
  if (y.numel() == 0) return {};
  const ShaderLoops<kMaxRank, 2> loops(LoopNest<2>(
      y.shape, {broadcast_strides(a.shape, y.shape), broadcast_strides(b.shape, y.shape)}));
  Push push = {static_cast<uint32_t>(y.numel()), loops.rank, 0, {}, {}};
  for (int d = 0; d < kMaxRank; ++d) {
    push.extents[d] = loops.extents[d];
    for (int n = 0; n < 2; ++n) push.strides[n][d] = loops.strides[n][d];
  }
  const bool divides_integers =
      binary_kind(fn) == BinaryKind::kDivision && a.dtype != DType::kFloat32;
  if (divides_integers) {
    LAZYRT_RETURN_IF_ERROR(
        recorder.failure(Error::kOutOfRange, "integer division by zero", &push.failure));
  }
  const uint32_t constants[] = {static_cast<uint32_t>(fn), static_cast<uint32_t>(a.dtype),
                                static_cast<uint32_t>(y.dtype), gives_bool(binary_kind(fn)),
                                divides_integers};
  const VulkanOperand operands[] = {reads(a), reads(b), writes(y), recorder.error_word()};
  return recorder.dispatch(
      shader_of(a.dtype, binary_f32_shader, binary_i32_shader, binary_i64_shader), constants,
      operands, push, recorder.linear(quads(y.numel())));
}

}  // namespace

const Kernel binary_vk = {supports, nullptr, run, nullptr};

}  // namespace lazyrt
