// condition ? a : b, elementwise with broadcasting. Moves elements of any type.

#include "kernels/common/check.h"
#include "kernels/common/element.h"
#include "kernels/where/where_loops.h"

namespace lazyrt {

extern const OpDef where_op;

namespace {

Fault infer(const OpAttrs&, Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(check_operands("where", where_op, in, out));
  LAZYRT_RETURN_IF_ERROR(check_dtype("where", "condition", in[0], kBoolType));
  LAZYRT_RETURN_IF_ERROR(check_dtype("where", "a", in[1], kAllTypes));
  LAZYRT_RETURN_IF_ERROR(check_dtype("where", "b", in[2], dtype_set(in[1].dtype)));
  Shape both, shape;
  if (!broadcast_shapes(in[1].shape, in[2].shape, &both) ||
      !broadcast_shapes(in[0].shape, both, &shape)) {
    return Fault(Error::kInvalidArgument, "where: shapes %s, %s and %s do not broadcast",
                 shape_text(in[0].shape).text, shape_text(in[1].shape).text,
                 shape_text(in[2].shape).text);
  }
  return set_output("where", &out[0], in[1].dtype, shape);
}

template <class T>
void select(const RunContext& context) {
  const TensorView& c = context.inputs[0];
  const TensorView& a = context.inputs[1];
  const TensorView& b = context.inputs[2];
  const TensorView& y = context.outputs[0];
  where_loops(context).for_each_row([&](const int64_t* offset, int64_t count, const int64_t* step) {
    T* out = y.as<T>() + offset[0];
    const Bool* condition = c.as<const Bool>() + offset[1];
    const T* yes = a.as<const T>() + offset[2];
    const T* no = b.as<const T>() + offset[3];
    for (int64_t i = 0; i < count; ++i) {
      out[i] = condition[i * step[1]] ? yes[i * step[2]] : no[i * step[3]];
    }
  });
}

Fault run(void*, const RunContext& context) {
  return visit_element_size(dtype_size(context.outputs[0].dtype), [&](auto type) {
    select<typename decltype(type)::type>(context);
    return Fault();
  });
}

}  // namespace

const OpDef where_op =
    define_op(infer, work_by_size, run).with_inputs(3, 3).with_inplace_inputs(0b110);

}  // namespace lazyrt
