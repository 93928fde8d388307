// Elementwise functions of one operand.

#include <cstring>

#include "kernels/common/loops_vk.h"
#include "kernels/unary/scalar_forms.h"
#include "kernels/unary/unary_function.h"

namespace lazyrt {

extern const Kernel unary_vk;
extern const Shader unary_f32_shader, unary_i32_shader, unary_i64_shader;

namespace {

using Fn = fb::UnaryFn;

/// Returns whether the function is computed in double.
bool needs_double(Fn fn) {
  return fn == Fn::Erfinv || fn == Fn::Lgamma || fn == Fn::Digamma || fn == Fn::I0;
}

Fault supports(const NodeSpec& node) {
  const Fn fn = node.attrs.as<fb::Unary>().fn();
  if (shader_type(node.inputs[0].dtype) == ShaderType::kNone || needs_double(fn))
    return no_shader(fb::EnumNameUnaryFn(fn), node.inputs[0].dtype);
  return {};
}

struct Push {
  uint32_t count;
  uint32_t bounds[2][2];  ///< alpha and beta as elements
};

void set_bound(DType type, double value, uint32_t (&to)[2]) {
  if (type == DType::kFloat32) {
    const auto number = static_cast<float>(value);
    std::memcpy(to, &number, sizeof(number));
    return;
  }
  const int64_t number = type == DType::kInt64   ? bound<int64_t>(value)
                         : type == DType::kInt32 ? bound<int32_t>(value)
                         : type == DType::kInt16 ? bound<int16_t>(value)
                         : type == DType::kUInt8 ? bound<uint8_t>(value)
                         : type == DType::kInt8  ? bound<int8_t>(value)
                                                 : int64_t{value != 0};
  to[0] = static_cast<uint32_t>(number);
  to[1] = static_cast<uint32_t>(static_cast<uint64_t>(number) >> 32);
}

Fault run(void*, const RunContext& context) {
  Recorder& recorder = recorder_of(context);
  const auto& a = context.attrs.as<fb::Unary>();
  const TensorView& x = context.inputs[0];
  const TensorView& y = context.outputs[0];
  if (y.numel() == 0) return {};
  Push push = {static_cast<uint32_t>(y.numel()), {}};
  set_bound(x.dtype, a.alpha(), push.bounds[0]);
  set_bound(x.dtype, a.beta(), push.bounds[1]);
  const uint32_t constants[] = {static_cast<uint32_t>(a.fn()), static_cast<uint32_t>(x.dtype),
                                static_cast<uint32_t>(y.dtype),
                                unary_kind(a.fn()) == UnaryKind::kTruth};
  const VulkanOperand operands[] = {reads(x), writes(y)};
  return recorder.dispatch(shader_of(x.dtype, unary_f32_shader, unary_i32_shader, unary_i64_shader),
                           constants, operands, push, recorder.linear(quads(y.numel())));
}

}  // namespace

const Kernel unary_vk = {supports, nullptr, run, nullptr};

}  // namespace lazyrt
