// Layer norm of float32, row by row in vectors.

#include "kernels/common/check.h"
#include "runtime/backends/cpu/cpu_backend.h"

namespace lazyrt {

extern const Kernel layer_norm_cpu;

namespace {

const float* data_or_null(const TensorView& t) {
  return t.present() ? t.as<const float>() : nullptr;
}

Status supports(const NodeSpec& node) {
  if (node.inputs[0].dtype == DType::kFloat32) return {};
  return Status(Error::kUnsupported, "layer_norm: only f32");
}

Status run(void*, const RunContext& context) {
  const CpuServices& cpu = cpu_services(context);
  const auto& a = context.attrs.as<fb::LayerNorm>();
  const TensorView& x = context.inputs[0];
  if (x.numel() == 0) return {};
  size_t n = 1;
  for (int i = 0; i < a.normalized_rank(); ++i) n *= static_cast<size_t>(x.shape.back(i));
  const float* in = x.as<const float>();
  float* out = context.outputs[0].as<float>();
  const float* weight = data_or_null(operand_or_absent(context.inputs, 1));
  const float* bias = data_or_null(operand_or_absent(context.inputs, 2));
  const auto epsilon = static_cast<float>(a.epsilon());
  constexpr size_t kCost = 3;
  parallel_for(cpu, static_cast<size_t>(x.numel()) / n, grain_of(kCost * n),
               [&](size_t begin, size_t end) {
                 for (size_t i = begin; i < end; ++i) {
                   cpu.vector->layer_norm(in + i * n, weight, bias, out + i * n, n, epsilon);
                 }
               });
  return {};
}

}  // namespace

const Kernel layer_norm_cpu = {supports, nullptr, run, nullptr};

}  // namespace lazyrt
