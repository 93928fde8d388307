// Index of the largest or smallest element along an axis.

#include "kernels/common/arithmetic.h"
#include "kernels/common/check.h"
#include "kernels/common/element.h"
#include "kernels/common/strides.h"

namespace lazyrt {

extern const OpDef arg_reduce_op;

namespace {

using Fn = fb::ArgReduceFn;

Fault infer(const OpAttrs& attrs, Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(check_operands("arg_reduce", arg_reduce_op, in, out));
  const auto& a = attrs.as<fb::ArgReduce>();
  const Shape& x = in[0].shape;
  LAZYRT_RETURN_IF_ERROR(
      check_range("arg_reduce", "fn", static_cast<int>(a.fn()), 0, static_cast<int>(Fn::MAX)));
  LAZYRT_RETURN_IF_ERROR(check_dtype("arg_reduce", "x", in[0], kNumberTypes));
  LAZYRT_RETURN_IF_ERROR(check_axis("arg_reduce", a.axis(), x.rank()));
  if (x[a.axis()] == 0) {
    return Fault(Error::kInvalidArgument, "arg_reduce: axis %d of x %s has no elements", a.axis(),
                 shape_text(x).text);
  }
  Shape shape;
  for (int i = 0; i < x.rank(); ++i) {
    if (i != a.axis())
      shape.append(x[i]);
    else if (a.keepdim())
      shape.append(1);
  }
  return set_output("arg_reduce", &out[0], DType::kInt64, shape);
}

/// Whether a replaces b, which comes earlier.
template <class T>
bool beats(Fn fn, T a, T b) {
  if (is_nan(b)) return false;
  return is_nan(a) || (fn == Fn::ArgMax ? a > b : a < b);
}

template <class T>
Fault run_typed(const RunContext& context) {
  const auto& a = context.attrs.as<fb::ArgReduce>();
  const AxisView v = axis_view(context.inputs[0].shape, a.axis());
  const T* x = context.inputs[0].as<const T>();
  int64_t* y = context.outputs[0].as<int64_t>();
  for (int64_t o = 0; o < v.outer; ++o) {
    for (int64_t i = 0; i < v.inner; ++i) {
      const T* row = x + o * v.extent * v.inner + i;
      int64_t best = 0;
      for (int64_t k = 1; k < v.extent; ++k) {
        if (beats(a.fn(), row[k * v.inner], row[best * v.inner])) best = k;
      }
      *y++ = best;
    }
  }
  return Fault();
}

Fault run(void*, const RunContext& context) {
  if (context.outputs[0].numel() == 0) return {};
  return visit_dtype(NumberTypes{}, context.inputs[0].dtype,
                     [&](auto type) { return run_typed<typename decltype(type)::type>(context); });
}

}  // namespace

const OpDef arg_reduce_op = define_op(infer, work_by_size, run);

}  // namespace lazyrt
