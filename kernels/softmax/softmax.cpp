// softmax and log_softmax along one axis.

#include <cmath>

#include "kernels/common/arithmetic.h"
#include "kernels/common/check.h"
#include "kernels/common/element.h"
#include "kernels/common/strides.h"

namespace lazyrt {

extern const OpDef softmax_op;

namespace {

Fault infer(const OpAttrs& attrs, Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(check_operands("softmax", softmax_op, in, out));
  const auto& a = attrs.as<fb::Softmax>();
  LAZYRT_RETURN_IF_ERROR(check_dtype("softmax", "x", in[0], kFloatTypes));
  LAZYRT_RETURN_IF_ERROR(check_axis("softmax", a.axis(), in[0].shape.rank()));
  if (a.log() && a.safe()) {
    return Fault(Error::kInvalidArgument, "softmax: safe has no meaning together with log");
  }
  return set_output("softmax", &out[0], in[0].dtype, in[0].shape);
}

Work work(const OpAttrs& attrs, Span<const TensorSpec> in, Span<const TensorSpec> out) {
  return volume(out[0].shape) * kMathCall + work_by_size(attrs, in, out);
}

/// One row of `count` elements, `step` apart.
template <class T>
void softmax_row(const fb::Softmax& a, const T* x, T* y, int64_t count, int64_t step) {
  T top = -std::numeric_limits<T>::infinity();
  for (int64_t i = 0; i < count; ++i) top = maximum(top, x[i * step]);
  if (a.safe() && top == -std::numeric_limits<T>::infinity()) {
    for (int64_t i = 0; i < count; ++i) y[i * step] = 0;
    return;
  }
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    const T shifted = x[i * step] - top;
    const T e = std::exp(shifted);
    sum += static_cast<double>(e);
    y[i * step] = a.log() ? shifted : e;
  }
  const T scale = static_cast<T>(1 / sum);
  const T shift = static_cast<T>(std::log(sum));
  for (int64_t i = 0; i < count; ++i) {
    y[i * step] = a.log() ? y[i * step] - shift : y[i * step] * scale;
  }
}

template <class T>
Fault run_typed(const RunContext& context) {
  const auto& a = context.attrs.as<fb::Softmax>();
  const AxisView v = axis_view(context.inputs[0].shape, a.axis());
  const T* x = context.inputs[0].as<const T>();
  T* y = context.outputs[0].as<T>();
  for (int64_t o = 0; o < v.outer; ++o) {
    for (int64_t i = 0; i < v.inner; ++i) {
      const int64_t first = o * v.extent * v.inner + i;
      softmax_row(a, x + first, y + first, v.extent, v.inner);
    }
  }
  return Fault();
}

Fault run(void*, const RunContext& context) {
  if (context.outputs[0].numel() == 0) return {};
  return visit_dtype(FloatTypes{}, context.inputs[0].dtype,
                     [&](auto type) { return run_typed<typename decltype(type)::type>(context); });
}

}  // namespace

const OpDef softmax_op = define_op(infer, work, run).with_inplace_inputs(0b1);

}  // namespace lazyrt
