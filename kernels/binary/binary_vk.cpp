// Elementwise functions of two operands.

#include "kernels/binary/binary_function.h"
#include "kernels/common/loops_vk.h"

namespace lazyrt {

extern const Kernel binary_vk;
extern const Shader binary_f32_shader, binary_i32_shader, binary_i64_shader;

namespace {

Fault supports(const NodeSpec& node) {
  return check_shader_type(fb::EnumNameBinaryFn(node.attrs.as<fb::Binary>().fn()), node);
}

struct Push {
  uint32_t count;
  uint32_t failure;
  ShaderLoops<kMaxRank, 2> loops;
};

Fault run(void*, const RunContext& context) {
  Recorder& recorder = recorder_of(context);
  const fb::BinaryFn fn = context.attrs.as<fb::Binary>().fn();
  const TensorView& a = context.inputs[0];
  const TensorView& b = context.inputs[1];
  const TensorView& y = context.outputs[0];
  if (y.numel() == 0) return {};
  const LoopNest<2> nest(
      y.shape, {broadcast_strides(a.shape, y.shape), broadcast_strides(b.shape, y.shape)});
  Push push = {static_cast<uint32_t>(y.numel()), 0, ShaderLoops<kMaxRank, 2>(nest)};
  const bool divides_integers =
      binary_kind(fn) == BinaryKind::kDivision && a.dtype != DType::kFloat32;
  if (divides_integers) {
    const auto make = [](const ShaderFault& fault, int64_t, int64_t) {
      return division_by_zero(fault.what);
    };
    LAZYRT_RETURN_IF_ERROR(recorder.failure({make, fb::EnumNameBinaryFn(fn)}, &push.failure));
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
