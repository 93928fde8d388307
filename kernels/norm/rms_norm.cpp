// Root-mean-square norm over the trailing dims.

#include <cmath>

#include "kernels/norm/norm_rows.h"

namespace lazyrt {

extern const OpDef rms_norm_op;

namespace {

Fault infer(const OpAttrs& attrs, Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(check_operands("rms_norm", rms_norm_op, in, out));
  const auto& a = attrs.as<fb::RmsNorm>();
  return infer_row_norm("rms_norm", a.normalized_rank(), a.epsilon(), in, out);
}

template <class T>
RowScale root_mean_square(const T* x, int64_t count, double epsilon) {
  double squares = 0;
  for (int64_t i = 0; i < count; ++i)
    squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return {0, 1 / std::sqrt(squares / static_cast<double>(count) + epsilon)};
}

Fault run(void*, const RunContext& context) {
  if (context.outputs[0].numel() == 0) return {};
  const auto& a = context.attrs.as<fb::RmsNorm>();
  return visit_dtype(FloatTypes{}, context.inputs[0].dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    return normalize_rows<T>(context, a.normalized_rank(), a.epsilon(), root_mean_square<T>);
  });
}

}  // namespace

const OpDef rms_norm_op = define_op(infer, work_by_size, run)
                              .with_inputs(1, 2)
                              .with_optional_inputs(0b10)
                              .with_inplace_inputs(0b1);

}  // namespace lazyrt
