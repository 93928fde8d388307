// Average pool to a given size, NHWC.

#include "kernels/pool/pool_vk.h"

namespace lazyrt {

extern const Kernel adaptive_avg_pool2d_vk;

namespace {

/// Refuses sizes whose products overflow in the shader, which computes them as int.
Fault check_sizes(const Shape& x, const Shape& y) {
  for (int d = 1; d < 3; ++d) {
    if ((y[d] + 1) * x[d] > INT32_MAX - y[d])
      return Fault(Error::kUnsupported,
                   "adaptive_avg_pool2d: the shader cannot count %lld times %lld positions",
                   static_cast<long long>(x[d]), static_cast<long long>(y[d]));
  }
  return {};
}

Fault supports(const NodeSpec& node) {
  const TensorSpec& x = node.inputs[0];
  if (x.dtype != DType::kFloat32) return no_shader("adaptive_avg_pool2d", x.dtype);
  return check_sizes(x.shape, node.outputs[0].shape);
}

Fault run(void*, const RunContext& context) {
  LAZYRT_RETURN_IF_ERROR(check_sizes(context.inputs[0].shape, context.outputs[0].shape));
  return record_pool(context, PoolKind::kAdaptive, {});
}

}  // namespace

const Kernel adaptive_avg_pool2d_vk = {supports, nullptr, run, nullptr};

}  // namespace lazyrt
