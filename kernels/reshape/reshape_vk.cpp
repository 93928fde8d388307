// The same elements under another shape.

#include "kernels/common/copy_vk.h"

namespace lazyrt {

extern const Kernel reshape_vk;

namespace {

Fault run(void*, const RunContext& context) {
  const TensorView& y = context.outputs[0];
  return recorder_of(context).copy(y.data, context.inputs[0].data, y.bytes());
}

}  // namespace

const Kernel reshape_vk = {copies, nullptr, run, nullptr};

}  // namespace lazyrt
