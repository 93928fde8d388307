// Group norm of float32 on Vulkan, with the channels anywhere behind the batch.

#include "kernels/norm/row_norm_vk.h"

namespace lazyrt {

extern const Kernel group_norm_vk;

namespace {

Fault supports(const NodeSpec& node) { return check_f32("group_norm", node); }

Fault run(void*, const RunContext& context) {
  const auto& a = context.attrs.as<fb::GroupNorm>();
  const Shape& shape = context.inputs[0].shape;
  if (shape.numel() == 0) return {};
  const AxisView v = axis_view(shape, a.channel_axis());
  const int64_t rows = shape[0] * a.groups(), extent = shape.numel() / rows;
  return record_row_norm(
      context,
      {choose_row_form(extent, 1, rows), static_cast<uint32_t>(extent),
       static_cast<float>(a.epsilon()), static_cast<uint32_t>(a.groups()),
       static_cast<uint32_t>(v.extent / a.groups()), static_cast<uint32_t>(v.inner)},
      true);
}

}  // namespace

const Kernel group_norm_vk = {supports, nullptr, run, nullptr};

}  // namespace lazyrt
