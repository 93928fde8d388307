// Fully connected layer: y = x weight^T + bias, fused clamp.

#include "kernels/common/arithmetic.h"
#include "kernels/common/check.h"
#include "kernels/common/element.h"

namespace lazyrt {

extern const OpDef linear_op;

namespace {

Fault infer(const OpAttrs& attrs, Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(check_operands("linear", linear_op, in, out));
  const auto& a = attrs.as<fb::Linear>();
  LAZYRT_RETURN_IF_ERROR(check_clamp("linear", a.min(), a.max()));
  LAZYRT_RETURN_IF_ERROR(check_dtype("linear", "x", in[0], kFloatTypes));
  LAZYRT_RETURN_IF_ERROR(check_min_rank("linear", "x", in[0], 1));
  LAZYRT_RETURN_IF_ERROR(check_rank("linear", "weight", in[1], 2));
  const int64_t units = in[1].shape[0];
  LAZYRT_RETURN_IF_ERROR(
      check_operand("linear", "weight", in[1], in[0].dtype, Shape{units, in[0].shape.back(0)}));
  LAZYRT_RETURN_IF_ERROR(
      check_operand("linear", "bias", operand_or_absent(in, 2), in[0].dtype, Shape{units}));
  Shape shape = in[0].shape;
  shape[shape.rank() - 1] = units;
  return set_output("linear", &out[0], in[0].dtype, shape);
}

Work work(const OpAttrs& attrs, Span<const TensorSpec> in, Span<const TensorSpec> out) {
  return volume(out[0].shape) * trips(in[1].shape[1]) + work_by_size(attrs, in, out);
}

template <class T>
Fault run_typed(const RunContext& context) {
  const auto& a = context.attrs.as<fb::Linear>();
  const T* x = context.inputs[0].as<const T>();
  const T* weight = context.inputs[1].as<const T>();
  const T* bias = operand_or_absent(context.inputs, 2).as<const T>();
  const int64_t units = context.inputs[1].shape[0];
  const int64_t depth = context.inputs[1].shape[1];
  T* y = context.outputs[0].as<T>();
  for (int64_t i = 0, count = context.outputs[0].numel(); i < count; ++i) {
    const int64_t unit = i % units;
    const T sum = dot(x + i / units * depth, weight + unit * depth, depth);
    y[i] = clamp(sum + (bias == nullptr ? T(0) : bias[unit]), T(a.min()), T(a.max()));
  }
  return Fault();
}

Fault run(void*, const RunContext& context) {
  if (context.outputs[0].numel() == 0) return {};
  return visit_dtype(FloatTypes{}, context.inputs[0].dtype,
                     [&](auto type) { return run_typed<typename decltype(type)::type>(context); });
}

}  // namespace

const OpDef linear_op = define_op(infer, work, run).with_inputs(2, 3).with_optional_inputs(0b100);

}  // namespace lazyrt
