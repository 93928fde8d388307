// Average pool, NHWC.

#include "kernels/pool/pool_vk.h"

namespace lazyrt {

extern const Kernel avg_pool2d_vk;

namespace {

Fault supports(const NodeSpec& node) {
  const auto& a = node.attrs.as<fb::AvgPool2d>();
  return check_pool("avg_pool2d", node.inputs[0], {a.kernel_h(), a.kernel_w()}, {1, 1});
}

Fault run(void*, const RunContext& context) {
  const auto& a = context.attrs.as<fb::AvgPool2d>();
  PoolPush push = pool_push(a, 1, 1);
  push.counts_padding = a.count_include_pad() ? 1 : 0;
  push.divisor = a.divisor_override();
  return record_pool(context, PoolKind::kAverage, push);
}

}  // namespace

const Kernel avg_pool2d_vk = {supports, nullptr, run, nullptr};

}  // namespace lazyrt
