// Substitution in vectors over the right-hand sides; the threads share the matrices.

#include <cstring>

#include "kernels/linalg/matrices.h"
#include "runtime/backends/cpu/cpu_backend.h"

namespace lazyrt {

extern const Kernel triangular_solve_cpu;

namespace {

Fault supports(const NodeSpec& node) {
  if (node.inputs[0].dtype == DType::kFloat32 && node.outputs[0].numel() > 0) return {};
  return Fault(Error::kUnsupported, "only f32 that is not empty");
}

void solve(const VectorOps& vector, const fb::TriangularSolve& form, const float* a, float* x,
           size_t size, size_t columns) {
  for (size_t step = 0; step < size; ++step) {
    const size_t row = form.upper() ? size - 1 - step : step;
    float* solved = x + row * columns;
    for (size_t known = 0; known < step; ++known) {
      const size_t other = form.upper() ? size - 1 - known : known;
      vector.axpy(-a[row * size + other], x + other * columns, solved, columns);
    }
    if (!form.unit()) vector.divide(solved, a[row * size + row], solved, columns);
  }
}

Fault run(void*, const RunContext& context) {
  const CpuServices& cpu = cpu_services(context);
  const Shape& b = context.inputs[1].shape;
  const auto size = static_cast<size_t>(b.back(1)), columns = static_cast<size_t>(b.back(0));
  const float* a = context.inputs[0].as<const float>();
  const float* from = context.inputs[1].as<const float>();
  float* x = context.outputs[0].as<float>();
  const size_t block = size * columns;
  parallel_for(cpu, static_cast<size_t>(matrix_count(b)), grain_of(size * block),
               [&](size_t begin, size_t end) {
                 for (size_t i = begin; i < end; ++i) {
                   float* to = x + i * block;
                   if (x != from) std::memcpy(to, from + i * block, block * sizeof(float));
                   solve(*cpu.vector, context.attrs.as<fb::TriangularSolve>(), a + i * size * size,
                         to, size, columns);
                 }
               });
  return {};
}

}  // namespace

const Kernel triangular_solve_cpu = {supports, nullptr, run, nullptr};

}  // namespace lazyrt
