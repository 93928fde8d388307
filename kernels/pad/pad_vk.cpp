// Padding and cropping of any dims.

#include <cstring>

#include "kernels/common/check.h"
#include "kernels/common/copy_vk.h"
#include "kernels/common/element.h"

namespace lazyrt {

extern const Kernel pad_vk;
extern const Shader pad_shader;

namespace {

struct Push {
  uint32_t count;
  uint32_t rank;
  uint32_t value[2];
  uint32_t y_extents[kMaxRank];
  uint32_t x_extents[kMaxRank];
  int32_t before[kMaxRank];
};

Fault run(void*, const RunContext& context) {
  Recorder& recorder = recorder_of(context);
  const auto& a = context.attrs.as<fb::Pad>();
  const TensorView& x = context.inputs[0];
  const TensorView& y = context.outputs[0];
  if (y.numel() == 0) return {};
  Push push = {
      static_cast<uint32_t>(y.numel()), static_cast<uint32_t>(y.shape.rank()), {}, {}, {}, {}};
  LAZYRT_RETURN_IF_ERROR(visit_dtype(AllTypes{}, y.dtype, [&](auto type) {
    const auto value = convert<typename decltype(type)::type>(a.value());
    std::memcpy(push.value, &value, sizeof(value));
    return Fault();
  }));
  const Shape before = attribute_list(a.before());
  for (int d = 0; d < y.shape.rank(); ++d) {
    push.y_extents[d] = static_cast<uint32_t>(y.shape[d]);
    push.x_extents[d] = static_cast<uint32_t>(x.shape[d]);
    push.before[d] = static_cast<int32_t>(before[d]);
  }
  const uint32_t constants[] = {moved_type(y.dtype), static_cast<uint32_t>(a.mode())};
  const VulkanOperand operands[] = {reads(x), writes(y)};
  return recorder.dispatch(pad_shader, constants, operands, push,
                           recorder.linear(quads(y.numel())));
}

}  // namespace

const Kernel pad_vk = {copies, nullptr, run, nullptr};

}  // namespace lazyrt
