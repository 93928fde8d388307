// Layer norm over the trailing dims.

#include <cmath>

#include "kernels/norm/norm_rows.h"

namespace lazyrt {

extern const OpDef layer_norm_op;

namespace {

Fault infer(const OpAttrs& attrs, Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(check_operands("layer_norm", layer_norm_op, in, out));
  const auto& a = attrs.as<fb::LayerNorm>();
  return infer_row_norm("layer_norm", a.normalized_rank(), a.epsilon(), in, out);
}

template <class T>
RowScale mean_and_deviation(const T* x, int64_t count, double epsilon) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += static_cast<double>(x[i]);
  const double mean = sum / static_cast<double>(count);
  double squares = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double d = static_cast<double>(x[i]) - mean;
    squares += d * d;
  }
  return {mean, 1 / std::sqrt(squares / static_cast<double>(count) + epsilon)};
}

Fault run(void*, const RunContext& context) {
  if (context.outputs[0].numel() == 0) return {};
  const auto& a = context.attrs.as<fb::LayerNorm>();
  return visit_dtype(FloatTypes{}, context.inputs[0].dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    return normalize_rows<T>(context, a.normalized_rank(), a.epsilon(), mean_and_deviation<T>);
  });
}

}  // namespace

const OpDef layer_norm_op = define_op(infer, work_by_size, run)
                                .with_inputs(1, 3)
                                .with_optional_inputs(0b110)
                                .with_inplace_inputs(0b1);

}  // namespace lazyrt
