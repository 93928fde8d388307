// Tensors joined along one axis.

#include "kernels/common/copy_vk.h"

namespace lazyrt {

extern const Kernel concat_vk;

namespace {

Fault run(void*, const RunContext& context) {
  const int axis = context.attrs.as<fb::Concat>().axis();
  const TensorView& y = context.outputs[0];
  CopySide to = {y, 0, row_major(y.shape)};
  for (const TensorView& x : context.inputs) {
    LAZYRT_RETURN_IF_ERROR(
        record_copy(recorder_of(context), x.shape, to, {x, 0, row_major(x.shape)}));
    to.first += x.shape[axis] * to.strides[axis];
  }
  return {};
}

}  // namespace

const Kernel concat_vk = {copies, nullptr, run, nullptr};

}  // namespace lazyrt
