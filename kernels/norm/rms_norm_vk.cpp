// Root-mean-square norm of float32 on Vulkan.

#include "kernels/norm/row_norm_vk.h"

namespace lazyrt {

extern const Kernel rms_norm_vk;

namespace {

Fault supports(const NodeSpec& node) { return check_f32("rms_norm", node); }

Fault run(void*, const RunContext& context) {
  const auto& a = context.attrs.as<fb::RmsNorm>();
  return record_trailing_norm(context, a.normalized_rank(), a.epsilon(), false);
}

}  // namespace

const Kernel rms_norm_vk = {supports, nullptr, run, nullptr};

}  // namespace lazyrt
