// Rows picked by ids: an invocation makes four elements.

#include "kernels/gather/index_vk.h"

namespace lazyrt {

extern const Kernel index_select_vk;
extern const Shader index_select_shader;

namespace {

Fault supports(const NodeSpec& node) {
  return check_axis_extent(node.inputs[0], node.attrs.as<fb::IndexSelect>().axis());
}

struct Push {
  uint32_t count, ids, inner;
  int32_t low, extent;
  uint32_t error;
};

Fault run(void*, const RunContext& context) {
  Recorder& recorder = recorder_of(context);
  const TensorView& x = context.inputs[0];
  const TensorView& ids = context.inputs[1];
  const TensorView& y = context.outputs[0];
  const auto& a = context.attrs.as<fb::IndexSelect>();
  const AxisView v = axis_view(x.shape, a.axis());
  const auto extent = static_cast<int32_t>(v.extent);
  const int32_t low = a.from_end() ? -extent : 0;
  if (y.numel() == 0) return record_index_check(&recorder, "index_select", ids, low, extent);
  Push push = {static_cast<uint32_t>(y.numel()),
               static_cast<uint32_t>(ids.numel()),
               static_cast<uint32_t>(v.inner),
               low,
               extent,
               0};
  LAZYRT_RETURN_IF_ERROR(index_failure(&recorder, "index_select", low, extent, &push.error));
  const uint32_t constants[] = {is_wide(ids), moved_type(x.dtype)};
  const VulkanOperand operands[] = {reads(x), reads(ids), writes(y), recorder.error_word()};
  return recorder.dispatch(index_select_shader, constants, operands, push,
                           recorder.linear(quads(push.count)));
}

}  // namespace

const Kernel index_select_vk = {supports, nullptr, run, nullptr};

}  // namespace lazyrt
