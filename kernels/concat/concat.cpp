// Tensors joined along one axis.

#include "kernels/common/check.h"
#include "kernels/concat/concat_parts.h"

namespace lazyrt {

extern const OpDef concat_op;

namespace {

Fault infer(const OpAttrs& attrs, Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(check_operands("concat", concat_op, in, out));
  const int axis = attrs.as<fb::Concat>().axis();
  LAZYRT_RETURN_IF_ERROR(check_axis("concat", axis, in[0].shape.rank()));
  Shape shape = in[0].shape;
  int64_t extent = 0;
  for (size_t i = 0; i < in.size(); ++i) {
    LAZYRT_RETURN_IF_ERROR(check_rank("concat", "an operand", in[i], shape.rank()));
    Shape expected = shape;
    expected[axis] = in[i].shape[axis];
    LAZYRT_RETURN_IF_ERROR(check_operand("concat", "an operand", in[i], in[0].dtype, expected));
    if (__builtin_add_overflow(extent, in[i].shape[axis], &extent)) {
      return Fault(Error::kInvalidArgument, "concat: axis %d of the result overflows", axis);
    }
  }
  shape[axis] = extent;
  return set_output("concat", &out[0], in[0].dtype, shape);
}

Fault run(void*, const RunContext& context) {
  if (context.outputs[0].numel() == 0) return Fault();
  const size_t bytes = dtype_size(context.outputs[0].dtype);
  for_each_part(context, [&](const TensorView& x, void* place, const Strides& to) {
    copy_strided(bytes, x.shape, place, to, x.data, row_major(x.shape));
  });
  return Fault();
}

}  // namespace

const OpDef concat_op = define_op(infer, work_by_size, run).with_inputs(1, OpDef::kAnyNumber);

}  // namespace lazyrt
