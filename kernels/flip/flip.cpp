// Order along some axes reversed.

#include "kernels/common/check.h"
#include "kernels/common/copy.h"

namespace lazyrt {

extern const OpDef flip_op;

namespace {

Fault infer(const OpAttrs& attrs, Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(check_operands("flip", flip_op, in, out));
  uint32_t axes = 0;
  LAZYRT_RETURN_IF_ERROR(read_axes("flip", attrs.as<fb::Flip>().axes(), in[0].shape.rank(), &axes));
  return set_output("flip", &out[0], in[0].dtype, in[0].shape);
}

Fault run(void*, const RunContext& context) {
  const TensorView& y = context.outputs[0];
  if (y.numel() == 0) return Fault();
  Strides from = row_major(y.shape);
  int64_t first = 0;
  for (int64_t axis : attribute_list(context.attrs.as<fb::Flip>().axes())) {
    int64_t& step = from[static_cast<int>(axis)];
    first += step * (y.shape[static_cast<int>(axis)] - 1);
    step = -step;
  }
  const size_t bytes = dtype_size(y.dtype);
  copy_strided(bytes, y.shape, y.data, row_major(y.shape),
               element_at(static_cast<const void*>(context.inputs[0].data), first, bytes), from);
  return Fault();
}

}  // namespace

const OpDef flip_op = define_op(infer, work_by_size, run);

}  // namespace lazyrt
