// Running products, extremes and logarithms of sums along an axis on Vulkan.

#include "kernels/scan/scan_vk.h"

namespace lazyrt {

extern const Kernel scan_vk;

namespace {

Fault supports(const NodeSpec& node) { return check_shader_type("scan", node); }

Fault run(void*, const RunContext& context) {
  const auto& a = context.attrs.as<fb::Scan>();
  return record_scan(context, static_cast<uint32_t>(a.fn()), a.axis());
}

}  // namespace

const Kernel scan_vk = {supports, nullptr, run, nullptr};

}  // namespace lazyrt
