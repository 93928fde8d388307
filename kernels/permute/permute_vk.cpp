// Dims in another order.

#include "kernels/common/check.h"
#include "kernels/common/copy_vk.h"

namespace lazyrt {

extern const Kernel permute_vk;

namespace {

Fault run(void*, const RunContext& context) {
  const Shape perm = attribute_list(context.attrs.as<fb::Permute>().perm());
  const TensorView& x = context.inputs[0];
  const TensorView& y = context.outputs[0];
  const Strides own = row_major(x.shape);
  CopySide from = {x};
  for (int i = 0; i < perm.rank(); ++i) from.strides[i] = own[static_cast<int>(perm[i])];
  return record_copy(recorder_of(context), y.shape, {y, 0, row_major(y.shape)}, from);
}

}  // namespace

const Kernel permute_vk = {copies, nullptr, run, nullptr};

}  // namespace lazyrt
