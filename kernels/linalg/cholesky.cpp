// The lower triangle l with a = l l^T, from the lower triangle of a.

#include <cmath>

#include "kernels/common/element.h"
#include "kernels/linalg/matrices.h"

namespace lazyrt {

extern const OpDef cholesky_op;

namespace {

Fault infer(const OpAttrs&, Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(check_operands("cholesky", cholesky_op, in, out));
  LAZYRT_RETURN_IF_ERROR(check_square("cholesky", "a", in[0]));
  LAZYRT_RETURN_IF_ERROR(set_output("cholesky", &out[0], in[0].dtype, in[0].shape));
  return set_output("cholesky", &out[1], DType::kInt32, without_last(in[0].shape, 2));
}

/// Returns 0, or the order of the first leading minor that is not positive; l is then NaN from
/// there on.
template <class T>
int32_t factorize(const T* a, T* l, int64_t size) {
  int32_t bad = 0;
  for (int64_t row = 0; row < size; ++row) {
    for (int64_t column = 0; column <= row; ++column) {
      T sum = a[row * size + column];
      for (int64_t k = 0; k < column; ++k) sum -= l[row * size + k] * l[column * size + k];
      const bool diagonal = column == row;
      if (diagonal && bad == 0 && !(sum > 0)) bad = static_cast<int32_t>(row + 1);
      l[row * size + column] =
          diagonal ? std::sqrt(bad == 0 ? sum : T(NAN)) : sum / l[column * size + column];
    }
    for (int64_t column = row + 1; column < size; ++column) l[row * size + column] = 0;
  }
  return bad;
}

template <class T>
Fault run_typed(const RunContext& context) {
  const int64_t size = context.inputs[0].shape.back(0);
  const T* a = context.inputs[0].as<const T>();
  T* l = context.outputs[0].as<T>();
  for (int64_t i = 0, count = context.outputs[1].shape.numel(); i < count; ++i) {
    context.outputs[1].as<int32_t>()[i] = factorize(a + i * size * size, l + i * size * size, size);
  }
  return Fault();
}

Fault run(void*, const RunContext& context) {
  return visit_dtype(FloatTypes{}, context.inputs[0].dtype,
                     [&](auto type) { return run_typed<typename decltype(type)::type>(context); });
}

}  // namespace

const OpDef cholesky_op = define_op(infer, cubic_work, run).with_outputs(2);

}  // namespace lazyrt
