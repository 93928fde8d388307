// y = x, then y[..., index[..., i, ...], ...] takes in src[..., i, ...], as torch.scatter and
// scatter_reduce (include_self). Of equal indices the last in row-major order is assigned.

#include "kernels/common/arithmetic.h"
#include "kernels/common/check.h"
#include "kernels/common/copy.h"
#include "kernels/common/element.h"
#include "kernels/gather/index_check.h"

namespace lazyrt {

extern const OpDef scatter_op;

namespace {

using Fn = fb::ScatterFn;

Fault infer(const OpAttrs& attrs, Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(check_operands("scatter", scatter_op, in, out));
  const auto& a = attrs.as<fb::Scatter>();
  const Shape& x = in[0].shape;
  const Shape& index = in[1].shape;
  const Shape& src = in[2].shape;
  LAZYRT_RETURN_IF_ERROR(
      check_range("scatter", "fn", static_cast<int>(a.fn()), 0, static_cast<int>(Fn::MAX)));
  LAZYRT_RETURN_IF_ERROR(
      check_dtype("scatter", "x", in[0], a.fn() == Fn::Assign ? kAllTypes : kComputeTypes));
  LAZYRT_RETURN_IF_ERROR(check_dtype("scatter", "index", in[1], kIndexTypes));
  LAZYRT_RETURN_IF_ERROR(check_dtype("scatter", "src", in[2], dtype_set(in[0].dtype)));
  LAZYRT_RETURN_IF_ERROR(check_axis("scatter", a.axis(), x.rank()));
  LAZYRT_RETURN_IF_ERROR(check_rank("scatter", "index", in[1], x.rank()));
  LAZYRT_RETURN_IF_ERROR(check_rank("scatter", "src", in[2], x.rank()));
  for (int i = 0; i < x.rank(); ++i) {
    if (index[i] <= src[i] && (i == a.axis() || index[i] <= x[i])) continue;
    return Fault(Error::kInvalidArgument,
                 "scatter: index %s is larger than x %s or src %s in dim %d",
                 shape_text(index).text, shape_text(x).text, shape_text(src).text, i);
  }
  return set_output("scatter", &out[0], in[0].dtype, x);
}

template <class T, class Combine>
void scatter(const RunContext& context, int axis, Combine combine) {
  const TensorView& index = context.inputs[1];
  const T* src = context.inputs[2].as<const T>();
  T* y = context.outputs[0].as<T>();
  Strides to = row_major(context.outputs[0].shape);
  const int64_t axis_step = to[axis];
  to[axis] = 0;
  const LoopNest<3> loops(index.shape,
                          {row_major(index.shape), row_major(context.inputs[2].shape), to});
  loops.for_each_row([&](const int64_t* offset, int64_t count, const int64_t* step) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = index_at(index, offset[0] + i * step[0]);
      T& target = y[offset[2] + i * step[2] + at * axis_step];
      target = combine(target, src[offset[1] + i * step[1]]);
    }
  });
}

template <class T>
Fault scatter_with(const RunContext& context, const fb::Scatter& a) {
  switch (a.fn()) {
    case Fn::Add:
      scatter<T>(context, a.axis(), wrapping_add<T>);
      break;
    case Fn::Mul:
      scatter<T>(context, a.axis(), wrapping_mul<T>);
      break;
    case Fn::Max:
      scatter<T>(context, a.axis(), maximum<T>);
      break;
    default:
      scatter<T>(context, a.axis(), minimum<T>);
      break;
  }
  return Fault();
}

Fault run(void*, const RunContext& context) {
  const auto& a = context.attrs.as<fb::Scatter>();
  const TensorView& x = context.inputs[0];
  LAZYRT_RETURN_IF_ERROR(check_indices("scatter", context.inputs[1], 0, x.shape[a.axis()]));
  copy_bytes(context.outputs[0].data, x.data, x.bytes());
  if (a.fn() == Fn::Assign) {
    return visit_element_size(dtype_size(x.dtype), [&](auto type) {
      using T = typename decltype(type)::type;
      scatter<T>(context, a.axis(), [](T, T value) { return value; });
      return Fault();
    });
  }
  return visit_dtype(ComputeTypes{}, x.dtype, [&](auto type) {
    return scatter_with<typename decltype(type)::type>(context, a);
  });
}

}  // namespace

// Not in place: an index that shares x's memory would change after it was checked.
const OpDef scatter_op = define_op(infer, work_by_size, run).with_inputs(3, 3);

}  // namespace lazyrt
