// Layer norm of float32, row by row in vectors.

#include "kernels/norm/norm_rows_cpu.h"

namespace lazyrt {

extern const Kernel layer_norm_cpu;

namespace {

Fault supports(const NodeSpec& node) { return supports_row_norm("layer_norm", node); }

Fault run(void*, const RunContext& context) {
  const auto& a = context.attrs.as<fb::LayerNorm>();
  const VectorOps& vector = *cpu_services(context).vector;
  const float* weight = floats_or_null(context, 1);
  const float* bias = floats_or_null(context, 2);
  const auto epsilon = static_cast<float>(a.epsilon());
  return for_each_row(context, a.normalized_rank(), [&](const float* x, float* y, size_t count) {
    vector.layer_norm(x, weight, bias, y, count, epsilon);
  });
}

}  // namespace

const Kernel layer_norm_cpu = {supports, nullptr, run, nullptr};

}  // namespace lazyrt
