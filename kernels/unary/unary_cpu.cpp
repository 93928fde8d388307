// Elementwise functions of one operand: float32 in vectors; the rest is left to the reference.

#include "kernels/unary/unary_rows.h"
#include "runtime/backends/cpu/cpu_backend.h"

namespace lazyrt {

extern const Kernel unary_cpu;

namespace {

using Fn = fb::UnaryFn;

UnaryRow find_row(VectorIsa isa, Fn fn) {
  return LAZYRT_OF_ISA(isa, kUnaryRows).at[static_cast<size_t>(fn)];
}

Fault supports(const NodeSpec& node) {
  const Fn fn = node.attrs.as<fb::Unary>().fn();
  if (node.inputs[0].dtype != DType::kFloat32 || find_row(VectorIsa::kBaseline, fn) == nullptr) {
    return Fault(Error::kUnsupported, "%s of %s has no vector form", fb::EnumNameUnaryFn(fn),
                 dtype_name(node.inputs[0].dtype));
  }
  return {};
}

Fault run(void*, const RunContext& context) {
  const CpuServices& cpu = cpu_services(context);
  const auto& a = context.attrs.as<fb::Unary>();
  const UnaryRow row = find_row(cpu.vector->kind, a.fn());
  const auto alpha = static_cast<float>(a.alpha());
  const auto beta = static_cast<float>(a.beta());
  const float* x = context.inputs[0].as<const float>();
  float* y = context.outputs[0].as<float>();
  constexpr size_t kCost = 4;
  parallel_for(
      cpu, static_cast<size_t>(context.inputs[0].numel()), grain_of(kCost),
      [=](size_t begin, size_t end) { row(x + begin, y + begin, end - begin, alpha, beta); });
  return {};
}

}  // namespace

const Kernel unary_cpu = {supports, nullptr, run, nullptr};

}  // namespace lazyrt
