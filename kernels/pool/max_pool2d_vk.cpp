// Max pool, NHWC.

#include "kernels/pool/pool_vk.h"

namespace lazyrt {

extern const Kernel max_pool2d_vk;

namespace {

Fault supports(const NodeSpec& node) {
  const auto& a = node.attrs.as<fb::MaxPool2d>();
  return check_pool("max_pool2d", node.inputs[0], {a.kernel_h(), a.kernel_w()},
                    {a.dilation_h(), a.dilation_w()});
}

Fault run(void*, const RunContext& context) {
  const auto& a = context.attrs.as<fb::MaxPool2d>();
  return record_pool(context, PoolKind::kMax, pool_push(a, a.dilation_h(), a.dilation_w()));
}

}  // namespace

const Kernel max_pool2d_vk = {supports, nullptr, run, nullptr};

}  // namespace lazyrt
