// Broadcast to a shape, copied.

#include "kernels/common/check.h"
#include "kernels/common/copy.h"

namespace lazyrt {

extern const OpDef expand_op;

namespace {

Fault infer(const OpAttrs& attrs, Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(check_operands("expand", expand_op, in, out));
  const auto* shape = attrs.as<fb::Expand>().shape();
  LAZYRT_RETURN_IF_ERROR(
      check_range("expand", "rank of shape", attribute_size(shape), 0, kMaxRank));
  const Shape to = attribute_list(shape);
  Shape both;
  if (!broadcast_shapes(in[0].shape, to, &both) || both != to) {
    return Fault(Error::kInvalidArgument, "expand: x %s does not broadcast to shape %s",
                 shape_text(in[0].shape).text, shape_text(to).text);
  }
  return set_output("expand", &out[0], in[0].dtype, to);
}

Fault run(void*, const RunContext& context) {
  const TensorView& x = context.inputs[0];
  const TensorView& y = context.outputs[0];
  copy_strided(dtype_size(y.dtype), y.shape, y.data, row_major(y.shape), x.data,
               broadcast_strides(x.shape, y.shape));
  return Fault();
}

}  // namespace

const OpDef expand_op = define_op(infer, work_by_size, run);

}  // namespace lazyrt
