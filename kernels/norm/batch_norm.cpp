// Batch norm with the running statistics (inference).

#include <cmath>

#include "kernels/common/check.h"
#include "kernels/common/element.h"
#include "kernels/common/strides.h"

namespace lazyrt {

extern const OpDef batch_norm_op;

namespace {

Fault infer(const OpAttrs& attrs, Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(check_operands("batch_norm", batch_norm_op, in, out));
  const auto& a = attrs.as<fb::BatchNorm>();
  const TensorSpec& x = in[0];
  LAZYRT_RETURN_IF_ERROR(check_dtype("batch_norm", "x", x, kFloatTypes));
  LAZYRT_RETURN_IF_ERROR(
      check_range("batch_norm", "channel_axis", a.channel_axis(), 0, x.shape.rank() - 1));
  LAZYRT_RETURN_IF_ERROR(check_epsilon("batch_norm", a.epsilon()));
  const Shape row = {x.shape[a.channel_axis()]};
  constexpr const char* kNames[] = {"x", "weight", "bias", "mean", "variance"};
  for (size_t i = 1; i < 5; ++i) {
    LAZYRT_RETURN_IF_ERROR(check_operand("batch_norm", kNames[i], in[i], x.dtype, row));
  }
  return set_output("batch_norm", &out[0], x.dtype, x.shape);
}

template <class T>
Fault run_typed(const RunContext& context) {
  const auto& a = context.attrs.as<fb::BatchNorm>();
  const AxisView v = axis_view(context.inputs[0].shape, a.channel_axis());
  const T* x = context.inputs[0].as<const T>();
  const T* weight = context.inputs[1].as<const T>();
  const T* bias = context.inputs[2].as<const T>();
  const T* mean = context.inputs[3].as<const T>();
  const T* variance = context.inputs[4].as<const T>();
  T* y = context.outputs[0].as<T>();
  for (int64_t row = 0; row < v.outer * v.extent; ++row) {
    const int64_t c = row % v.extent;
    const double scale = (weight == nullptr ? 1.0 : static_cast<double>(weight[c])) /
                         std::sqrt(static_cast<double>(variance[c]) + a.epsilon());
    const double shift = bias == nullptr ? 0.0 : static_cast<double>(bias[c]);
    for (int64_t i = row * v.inner; i < (row + 1) * v.inner; ++i) {
      y[i] = static_cast<T>((static_cast<double>(x[i]) - static_cast<double>(mean[c])) * scale +
                            shift);
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

const OpDef batch_norm_op = define_op(infer, work_by_size, run)
                                .with_inputs(5, 5)
                                .with_optional_inputs(0b110)
                                .with_inplace_inputs(0b1);

}  // namespace lazyrt
