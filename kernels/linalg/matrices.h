#pragma once

// The common parts of the solvers: operands that are batches of matrices.

#include "kernels/common/check.h"

namespace lazyrt {

/// `spec` is floating and [...,N,N].
inline Fault check_square(Word op, Word operand, const TensorSpec& spec) {
  LAZYRT_RETURN_IF_ERROR(check_dtype(op, operand, spec, kFloatTypes));
  LAZYRT_RETURN_IF_ERROR(check_min_rank(op, operand, spec, 2));
  if (spec.shape.back(0) == spec.shape.back(1)) return Fault();
  return Fault(Error::kInvalidArgument, "%s: %s has shape %s, its last two dims must be equal", op,
               operand, shape_text(spec.shape).text);
}

/// The number of matrices in [...,R,C]. An empty tensor counts as none.
inline int64_t matrix_count(const Shape& shape) {
  const int64_t elements = shape.back(0) * shape.back(1);
  return elements == 0 ? 0 : shape.numel() / elements;
}

/// Each element of the result reads a row of the matrix.
inline Work cubic_work(const OpAttrs& attrs, Span<const TensorSpec> in,
                       Span<const TensorSpec> out) {
  return volume(out[0].shape) * trips(in[0].shape.back(0)) + work_by_size(attrs, in, out);
}

/// The shape without its last dims.
inline Shape without_last(Shape shape, int dims) {
  Shape out;
  for (int i = 0; i + dims < shape.rank(); ++i) out.append(shape[i]);
  return out;
}

}  // namespace lazyrt
