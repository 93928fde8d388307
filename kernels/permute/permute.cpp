// Dims in another order.

#include "kernels/common/check.h"
#include "kernels/common/copy.h"

namespace lazyrt {

extern const OpDef permute_op;

namespace {

Fault infer(const OpAttrs& attrs, Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(check_operands("permute", permute_op, in, out));
  const auto* perm = attrs.as<fb::Permute>().perm();
  const Shape& x = in[0].shape;
  LAZYRT_RETURN_IF_ERROR(check_length("permute", "perm", perm, x.rank()));
  uint32_t seen = 0;
  LAZYRT_RETURN_IF_ERROR(read_axes("permute", perm, x.rank(), &seen));
  Shape shape;
  for (int64_t axis : attribute_list(perm)) shape.append(x[static_cast<int>(axis)]);
  return set_output("permute", &out[0], in[0].dtype, shape);
}

Fault run(void*, const RunContext& context) {
  const Shape perm = attribute_list(context.attrs.as<fb::Permute>().perm());
  const Strides own = row_major(context.inputs[0].shape);
  Strides from;
  for (int i = 0; i < perm.rank(); ++i) from[i] = own[static_cast<int>(perm[i])];
  const TensorView& y = context.outputs[0];
  copy_strided(dtype_size(y.dtype), y.shape, y.data, row_major(y.shape), context.inputs[0].data,
               from);
  return Fault();
}

}  // namespace

const OpDef permute_op = define_op(infer, work_by_size, run);

}  // namespace lazyrt
