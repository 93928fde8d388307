// Running sum along an axis on Vulkan.

#include "kernels/scan/scan_vk.h"

namespace lazyrt {

extern const Kernel cum_sum_vk;

namespace {

Fault supports(const NodeSpec& node) { return check_shader_type("cum_sum", node); }

Fault run(void*, const RunContext& context) {
  const auto& a = context.attrs.as<fb::CumSum>();
  return record_scan(context, kScanSum, a.axis());
}

}  // namespace

const Kernel cum_sum_vk = {supports, nullptr, run, nullptr};

}  // namespace lazyrt
