// Running products, extremes and logarithms of sums along an axis on Vulkan.

#include "kernels/scan/scan_vk.h"

namespace lazyrt {

extern const Kernel scan_vk;

namespace {

Fault supports(const NodeSpec& node) {
  const DType type = node.inputs[0].dtype;
  return shader_type(type) == ShaderType::kNone ? no_shader("scan", type) : Fault();
}

Fault run(void*, const RunContext& context) {
  const auto& a = context.attrs.as<fb::Scan>();
  return record_scan(context, static_cast<uint32_t>(a.fn()), a.axis());
}

}  // namespace

const Kernel scan_vk = {supports, nullptr, run, nullptr};

}  // namespace lazyrt
