// Group norm of float32 with the channels outside (a group is one run of memory), in vectors.

#include <cmath>

#include "kernels/common/check.h"
#include "kernels/common/strides.h"
#include "runtime/backends/cpu/cpu_backend.h"

namespace lazyrt {

extern const Kernel group_norm_cpu;

namespace {

Fault supports(const NodeSpec& node) {
  if (node.inputs[0].dtype != DType::kFloat32)
    return Fault(Error::kUnsupported, "group_norm: only f32");
  const auto& a = node.attrs.as<fb::GroupNorm>();
  const AxisView view = axis_view(node.inputs[0].shape, a.channel_axis());
  if (a.channel_axis() == 1 || (view.inner == 1 && view.outer == node.inputs[0].shape[0]))
    return {};
  return Fault(Error::kUnsupported, "group_norm: channels are not outermost after the batch");
}

Fault run(void*, const RunContext& context) {
  const CpuServices& cpu = cpu_services(context);
  const auto& a = context.attrs.as<fb::GroupNorm>();
  const TensorView& x = context.inputs[0];
  if (x.numel() == 0) return {};
  const AxisView view = axis_view(x.shape, a.channel_axis());
  const auto groups = static_cast<size_t>(a.groups());
  const size_t per_group = static_cast<size_t>(view.extent) / groups;
  const auto inner = static_cast<size_t>(view.inner);
  const TensorView& weight = operand_or_absent(context.inputs, 1);
  const TensorView& bias = operand_or_absent(context.inputs, 2);
  const auto normalize = [&](size_t i) {
    const float* in = x.as<const float>() + i * per_group * inner;
    float* out = context.outputs[0].as<float>() + i * per_group * inner;
    float mean, variance;
    cpu.vector->moments(in, per_group * inner, &mean, &variance);
    const float factor = 1.0f / std::sqrt(variance + static_cast<float>(a.epsilon()));
    for (size_t k = 0; k < per_group; ++k) {
      const size_t c = i % groups * per_group + k;
      const float scale = factor * (weight.present() ? weight.as<const float>()[c] : 1.0f);
      const float shift = (bias.present() ? bias.as<const float>()[c] : 0.0f) - mean * scale;
      cpu.vector->scale_shift1(in + k * inner, scale, shift, out + k * inner, inner);
    }
  };
  parallel_for(cpu, static_cast<size_t>(x.shape[0]) * groups, grain_of(3 * per_group * inner),
               [&](size_t begin, size_t end) {
                 for (size_t i = begin; i < end; ++i) normalize(i);
               });
  return {};
}

}  // namespace

const Kernel group_norm_cpu = {supports, nullptr, run, nullptr};

}  // namespace lazyrt
