// Layer norm of float32 on Vulkan.

#include "kernels/norm/row_norm_vk.h"

namespace lazyrt {

extern const Kernel layer_norm_vk;

namespace {

Fault supports(const NodeSpec& node) { return check_f32("layer_norm", node); }

Fault run(void*, const RunContext& context) {
  const auto& a = context.attrs.as<fb::LayerNorm>();
  return record_trailing_norm(context, a.normalized_rank(), a.epsilon(), true);
}

}  // namespace

const Kernel layer_norm_vk = {supports, nullptr, run, nullptr};

}  // namespace lazyrt
