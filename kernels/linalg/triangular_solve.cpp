// x with a x = b for a triangular a, by substitution.

#include <cstring>

#include "kernels/common/arithmetic.h"
#include "kernels/common/element.h"
#include "kernels/linalg/matrices.h"

namespace lazyrt {

extern const OpDef triangular_solve_op;

namespace {

Fault infer(const OpAttrs&, Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(check_operands("triangular_solve", triangular_solve_op, in, out));
  LAZYRT_RETURN_IF_ERROR(check_square("triangular_solve", "a", in[0]));
  LAZYRT_RETURN_IF_ERROR(check_rank("triangular_solve", "b", in[1], in[0].shape.rank()));
  Shape b = in[0].shape;
  b[b.rank() - 1] = in[1].shape.back(0);
  LAZYRT_RETURN_IF_ERROR(check_operand("triangular_solve", "b", in[1], in[0].dtype, b));
  return set_output("triangular_solve", &out[0], in[1].dtype, b);
}

/// x [size, columns] holds b.
template <class T>
void solve(const fb::TriangularSolve& form, const T* a, T* x, int64_t size, int64_t columns) {
  for (int64_t step = 0; step < size; ++step) {
    const int64_t row = form.upper() ? size - 1 - step : step;
    T* solved = x + row * columns;
    for (int64_t known = 0; known < step; ++known) {
      const int64_t other = form.upper() ? size - 1 - known : known;
      add_scaled(solved, x + other * columns, -a[row * size + other], columns);
    }
    if (form.unit()) continue;
    for (int64_t c = 0; c < columns; ++c) solved[c] /= a[row * size + row];
  }
}

template <class T>
Fault run_typed(const RunContext& context) {
  const TensorView& b = context.inputs[1];
  const int64_t size = b.shape.back(1), columns = b.shape.back(0);
  const T* a = context.inputs[0].as<const T>();
  T* x = context.outputs[0].as<T>();
  const auto bytes = static_cast<size_t>(b.shape.numel()) * sizeof(T);
  if (bytes > 0 && x != b.as<const T>()) std::memcpy(x, b.as<const T>(), bytes);
  for (int64_t i = 0, count = matrix_count(b.shape); i < count; ++i) {
    solve(context.attrs.as<fb::TriangularSolve>(), a + i * size * size, x + i * size * columns,
          size, columns);
  }
  return Fault();
}

Fault run(void*, const RunContext& context) {
  return visit_dtype(FloatTypes{}, context.inputs[0].dtype,
                     [&](auto type) { return run_typed<typename decltype(type)::type>(context); });
}

}  // namespace

const OpDef triangular_solve_op =
    define_op(infer, cubic_work, run).with_inputs(2, 2).with_inplace_inputs(0b10);

}  // namespace lazyrt
