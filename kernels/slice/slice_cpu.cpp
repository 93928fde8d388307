// A part of each dim, copied on all threads.

#include "kernels/common/parallel_copy_cpu.h"
#include "kernels/slice/slice_source.h"

namespace lazyrt {

extern const Kernel slice_cpu;

namespace {

Fault run(void*, const RunContext& context) {
  const TensorView& y = context.outputs[0];
  if (y.numel() == 0) return {};
  const SliceSource from = slice_source(context);
  const size_t bytes = dtype_size(y.dtype);
  const void* x = context.inputs[0].data;
  parallel_copy(cpu_services(context), bytes, y.shape, y.data, row_major(y.shape),
                element_at(x, from.first, bytes), from.strides);
  return {};
}

}  // namespace

const Kernel slice_cpu = {nullptr, nullptr, run, nullptr};

}  // namespace lazyrt
