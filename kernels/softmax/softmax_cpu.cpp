// Softmax and log-softmax of float32 along the innermost axis, row by row in vectors.

#include "runtime/backends/cpu/cpu_backend.h"

namespace lazyrt {

extern const Kernel softmax_cpu;

namespace {

Fault supports(const NodeSpec& node) {
  const TensorSpec& x = node.inputs[0];
  const int axis = node.attrs.as<fb::Softmax>().axis();
  if (x.dtype != DType::kFloat32) return Fault(Error::kUnsupported, "softmax: only f32");
  for (int i = axis + 1; i < x.shape.rank(); ++i) {
    if (x.shape[i] != 1) return Fault(Error::kUnsupported, "softmax: only the innermost axis");
  }
  if (x.shape.rank() == 0) return Fault(Error::kUnsupported, "softmax: a scalar");
  return {};
}

Fault run(void*, const RunContext& context) {
  const CpuServices& cpu = cpu_services(context);
  const auto& a = context.attrs.as<fb::Softmax>();
  const TensorView& x = context.inputs[0];
  const auto n = static_cast<size_t>(x.shape[a.axis()]);
  if (x.numel() == 0) return {};
  const float* in = x.as<const float>();
  float* out = context.outputs[0].as<float>();
  const bool log = a.log(), safe = a.safe();
  constexpr size_t kCost = 6;
  parallel_for(cpu, static_cast<size_t>(x.numel()) / n, grain_of(kCost * n),
               [&](size_t begin, size_t end) {
                 for (size_t i = begin; i < end; ++i) {
                   cpu.vector->softmax(in + i * n, out + i * n, n, log, safe);
                 }
               });
  return {};
}

}  // namespace

const Kernel softmax_cpu = {supports, nullptr, run, nullptr};

}  // namespace lazyrt
