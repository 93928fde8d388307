// a = p l u with partial pivoting; l (unit diagonal) and u in one matrix.

#include <cmath>
#include <cstring>
#include <utility>

#include "kernels/common/arithmetic.h"
#include "kernels/common/element.h"
#include "kernels/linalg/matrices.h"

namespace lazyrt {

extern const OpDef lu_op;

namespace {

Fault infer(const OpAttrs&, Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(check_operands("lu", lu_op, in, out));
  LAZYRT_RETURN_IF_ERROR(check_square("lu", "a", in[0]));
  LAZYRT_RETURN_IF_ERROR(set_output("lu", &out[0], in[0].dtype, in[0].shape));
  LAZYRT_RETURN_IF_ERROR(set_output("lu", &out[1], DType::kInt64, without_last(in[0].shape, 1)));
  return set_output("lu", &out[2], in[0].dtype, without_last(in[0].shape, 2));
}

/// The row of the largest element of a column, from `first` on; NaN counts as the largest.
template <class T>
int64_t pivot_row(const T* lu, int64_t size, int64_t first) {
  int64_t best = first;
  for (int64_t row = first + 1; row < size; ++row) {
    const T value = std::fabs(lu[row * size + first]), known = std::fabs(lu[best * size + first]);
    if (value > known || (std::isnan(value) && !std::isnan(known))) best = row;
  }
  return best;
}

/// Returns the sign of the permutation.
template <class T>
T factorize(T* lu, int64_t* permutation, int64_t size) {
  T sign = 1;
  for (int64_t i = 0; i < size; ++i) permutation[i] = i;
  for (int64_t i = 0; i < size; ++i) {
    const int64_t pivot = pivot_row(lu, size, i);
    if (pivot != i) {
      sign = -sign;
      std::swap(permutation[i], permutation[pivot]);
      for (int64_t c = 0; c < size; ++c) std::swap(lu[i * size + c], lu[pivot * size + c]);
    }
    if (lu[i * size + i] == 0) continue;
    for (int64_t row = i + 1; row < size; ++row) {
      const T factor = lu[row * size + i] /= lu[i * size + i];
      add_scaled(lu + row * size + i + 1, lu + i * size + i + 1, -factor, size - i - 1);
    }
  }
  return sign;
}

template <class T>
Fault run_typed(const RunContext& context) {
  const TensorView& a = context.inputs[0];
  const int64_t size = a.shape.back(0);
  T* lu = context.outputs[0].as<T>();
  const auto bytes = static_cast<size_t>(a.shape.numel()) * sizeof(T);
  if (bytes > 0) std::memcpy(lu, a.as<const T>(), bytes);
  for (int64_t i = 0, count = context.outputs[2].shape.numel(); i < count; ++i) {
    context.outputs[2].as<T>()[i] =
        factorize(lu + i * size * size, context.outputs[1].as<int64_t>() + i * size, size);
  }
  return Fault();
}

Fault run(void*, const RunContext& context) {
  return visit_dtype(FloatTypes{}, context.inputs[0].dtype,
                     [&](auto type) { return run_typed<typename decltype(type)::type>(context); });
}

}  // namespace

const OpDef lu_op = define_op(infer, cubic_work, run).with_outputs(3);

}  // namespace lazyrt
