// Nothing to do where the plan lets y share x's memory, else one copy.

#include <cstring>

#include "runtime/op/op_def.h"

namespace lazyrt {

namespace {

Status run(void*, const RunContext& context) {
  const TensorView& x = context.inputs[0];
  const TensorView& y = context.outputs[0];
  if (x.data != y.data && y.bytes() > 0) std::memcpy(y.data, x.data, y.bytes());
  return {};
}

}  // namespace

extern const Kernel reshape_cpu;
const Kernel reshape_cpu = {nullptr, nullptr, run, nullptr};

}  // namespace lazyrt
