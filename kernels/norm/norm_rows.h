#pragma once

// The common parts of the norms over trailing dims: the shape rule and the loop over rows.

#include "kernels/common/check.h"
#include "kernels/common/element.h"

namespace lazyrt {

/// x of a floating type; weight and bias, where given, have the shape of the last `normalized_rank`
/// dims of x. The result is like x.
inline Fault infer_row_norm(Word op, int normalized_rank, double epsilon, Span<const TensorSpec> in,
                            Span<TensorSpec> out) {
  const TensorSpec& x = in[0];
  LAZYRT_RETURN_IF_ERROR(check_dtype(op, "x", x, kFloatTypes));
  LAZYRT_RETURN_IF_ERROR(check_range(op, "normalized_rank", normalized_rank, 1, x.shape.rank()));
  LAZYRT_RETURN_IF_ERROR(check_epsilon(op, epsilon));
  const auto rank = static_cast<size_t>(normalized_rank);
  const Shape row(Span<const int64_t>(x.shape.end() - rank, rank));
  LAZYRT_RETURN_IF_ERROR(check_operand(op, "weight", operand_or_absent(in, 1), x.dtype, row));
  LAZYRT_RETURN_IF_ERROR(check_operand(op, "bias", operand_or_absent(in, 2), x.dtype, row));
  return set_output(op, &out[0], x.dtype, x.shape);
}

/// What a row is scaled by: y = (x - mean) * scale.
struct RowScale {
  double mean;
  double scale;
};

/// y = (x - mean) * scale * weight + bias for each row, with `measure(row, count, epsilon)` giving
/// mean and scale.
template <class T, class Measure>
Fault normalize_rows(const RunContext& context, int normalized_rank, double epsilon,
                     Measure measure) {
  const Shape& shape = context.inputs[0].shape;
  int64_t count = 1;
  for (int i = 0; i < normalized_rank; ++i) count *= shape.back(i);
  const T* x = context.inputs[0].as<const T>();
  const T* weight = operand_or_absent(context.inputs, 1).template as<const T>();
  const T* bias = operand_or_absent(context.inputs, 2).template as<const T>();
  T* y = context.outputs[0].as<T>();
  const int64_t total = shape.numel();
  for (int64_t first = 0; first < total; first += count) {
    const RowScale row = measure(x + first, count, epsilon);
    for (int64_t i = 0; i < count; ++i) {
      const double normal = (static_cast<double>(x[first + i]) - row.mean) * row.scale;
      y[first + i] =
          static_cast<T>(normal * (weight == nullptr ? 1.0 : static_cast<double>(weight[i])) +
                         (bias == nullptr ? 0.0 : static_cast<double>(bias[i])));
    }
  }
  return Fault();
}

}  // namespace lazyrt
