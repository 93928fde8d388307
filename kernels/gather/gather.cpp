// y[..., i, ...] = x[..., index[..., i, ...], ...], as torch.gather.

#include "kernels/common/check.h"
#include "kernels/common/element.h"
#include "kernels/common/strides.h"
#include "kernels/gather/index_check.h"

namespace lazyrt {

extern const OpDef gather_op;

namespace {

Fault infer(const OpAttrs& attrs, Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(check_operands("gather", gather_op, in, out));
  const int axis = attrs.as<fb::Gather>().axis();
  const Shape& x = in[0].shape;
  const Shape& index = in[1].shape;
  LAZYRT_RETURN_IF_ERROR(check_dtype("gather", "index", in[1], kIndexTypes));
  LAZYRT_RETURN_IF_ERROR(check_axis("gather", axis, x.rank()));
  LAZYRT_RETURN_IF_ERROR(check_rank("gather", "index", in[1], x.rank()));
  for (int i = 0; i < x.rank(); ++i) {
    if (i == axis || index[i] <= x[i]) continue;
    return Fault(Error::kInvalidArgument, "gather: index %s is larger than x %s in dim %d",
                 shape_text(index).text, shape_text(x).text, i);
  }
  return set_output("gather", &out[0], in[0].dtype, index);
}

template <class T>
void gather(const RunContext& context, int axis) {
  const TensorView& index = context.inputs[1];
  const T* x = context.inputs[0].as<const T>();
  T* y = context.outputs[0].as<T>();
  Strides from = row_major(context.inputs[0].shape);
  const int64_t axis_step = from[axis];
  from[axis] = 0;
  const LoopNest<2> loops(index.shape, {row_major(index.shape), from});
  loops.for_each_row([&](const int64_t* offset, int64_t count, const int64_t* step) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t to = offset[0] + i * step[0];
      y[to] = x[offset[1] + i * step[1] + index_at(index, to) * axis_step];
    }
  });
}

Fault run(void*, const RunContext& context) {
  const int axis = context.attrs.as<fb::Gather>().axis();
  LAZYRT_RETURN_IF_ERROR(
      check_indices("gather", context.inputs[1], 0, context.inputs[0].shape[axis]));
  return visit_element_size(dtype_size(context.inputs[0].dtype), [&](auto type) {
    gather<typename decltype(type)::type>(context, axis);
    return Fault();
  });
}

}  // namespace

const OpDef gather_op = define_op(infer, work_by_size, run).with_inputs(2, 2);

}  // namespace lazyrt
