// Batch norm of float32 by running statistics: one multiply-add, in vectors over channels where
// they are innermost, else over the positions of a channel.

#include <cmath>

#include "kernels/common/check.h"
#include "kernels/common/strides.h"
#include "runtime/backends/cpu/cpu_backend.h"

namespace lazyrt {

extern const Kernel batch_norm_cpu;

namespace {

Fault supports(const NodeSpec& node) {
  if (node.inputs[0].dtype == DType::kFloat32) return {};
  return Fault(Error::kUnsupported, "batch_norm: only f32");
}

Fault prepare(const PrepareContext& context, PreparedKernel* prepared) {
  const auto& a = context.node.attrs.as<fb::BatchNorm>();
  if (context.node.inputs[0].numel() == 0) return {};
  const auto channels = static_cast<size_t>(context.node.inputs[0].shape[a.channel_axis()]);
  prepared->workspace_bytes = 2 * channels * sizeof(float);
  return {};
}

void fill_factors(const RunContext& context, size_t channels, float* scale, float* shift) {
  const auto epsilon = static_cast<float>(context.attrs.as<fb::BatchNorm>().epsilon());
  const TensorView& weight = context.inputs[1];
  const TensorView& bias = context.inputs[2];
  const float* mean = context.inputs[3].as<const float>();
  const float* variance = context.inputs[4].as<const float>();
  for (size_t c = 0; c < channels; ++c) {
    const float w = weight.present() ? weight.as<const float>()[c] : 1.0f;
    scale[c] = w / std::sqrt(variance[c] + epsilon);
    shift[c] = (bias.present() ? bias.as<const float>()[c] : 0.0f) - mean[c] * scale[c];
  }
}

Fault run(void*, const RunContext& context) {
  const CpuServices& cpu = cpu_services(context);
  const TensorView& x = context.inputs[0];
  if (x.numel() == 0) return {};
  const AxisView view = axis_view(x.shape, context.attrs.as<fb::BatchNorm>().channel_axis());
  const auto channels = static_cast<size_t>(view.extent);
  const auto inner = static_cast<size_t>(view.inner);
  auto* scale = static_cast<float*>(context.workspace);
  float* shift = scale + channels;
  fill_factors(context, channels, scale, shift);
  const float* in = x.as<const float>();
  float* out = context.outputs[0].as<float>();
  if (inner == 1) {
    parallel_for(cpu, static_cast<size_t>(view.outer), grain_of(channels), [&](size_t b, size_t e) {
      for (size_t i = b; i < e; ++i) {
        cpu.vector->scale_shift(in + i * channels, scale, shift, out + i * channels, channels);
      }
    });
    return {};
  }
  parallel_for(
      cpu, static_cast<size_t>(view.outer) * channels, grain_of(inner), [&](size_t b, size_t e) {
        for (size_t i = b; i < e; ++i) {
          const size_t c = i % channels;
          cpu.vector->scale_shift1(in + i * inner, scale[c], shift[c], out + i * inner, inner);
        }
      });
  return {};
}

}  // namespace

const Kernel batch_norm_cpu = {supports, prepare, run, nullptr};

}  // namespace lazyrt
