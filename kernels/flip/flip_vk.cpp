// Order along some axes reversed.

#include "kernels/common/check.h"
#include "kernels/common/copy_vk.h"

namespace lazyrt {

extern const Kernel flip_vk;

namespace {

Fault run(void*, const RunContext& context) {
  const TensorView& y = context.outputs[0];
  if (y.numel() == 0) return {};
  CopySide from = {context.inputs[0], 0, row_major(y.shape)};
  for (int64_t axis : attribute_list(context.attrs.as<fb::Flip>().axes())) {
    int64_t& step = from.strides[static_cast<int>(axis)];
    from.first += step * (y.shape[static_cast<int>(axis)] - 1);
    step = -step;
  }
  return record_copy(recorder_of(context), y.shape, {y, 0, row_major(y.shape)}, from);
}

}  // namespace

const Kernel flip_vk = {copies, nullptr, run, nullptr};

}  // namespace lazyrt
