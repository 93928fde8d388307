// Matrix product with broadcast batch dims.

#include "kernels/common/arithmetic.h"
#include "kernels/common/check.h"
#include "kernels/common/element.h"
#include "kernels/common/strides.h"

namespace lazyrt {

extern const OpDef matmul_op;

namespace {

Shape batch_of(const Shape& shape) {
  return Shape(Span<const int64_t>(shape.data(), shape.size() - 2));
}

Fault infer(const OpAttrs& attrs, Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(check_operands("matmul", matmul_op, in, out));
  LAZYRT_RETURN_IF_ERROR(check_dtype("matmul", "a", in[0], kNumberTypes));
  LAZYRT_RETURN_IF_ERROR(check_dtype("matmul", "b", in[1], dtype_set(in[0].dtype)));
  LAZYRT_RETURN_IF_ERROR(check_min_rank("matmul", "a", in[0], 2));
  LAZYRT_RETURN_IF_ERROR(check_min_rank("matmul", "b", in[1], 2));
  const Shape& a = in[0].shape;
  const Shape& b = in[1].shape;
  const int transposed = attrs.as<fb::MatMul>().transpose_b() ? 1 : 0;
  Shape shape;
  if (a.back(0) != b.back(1 - transposed) || !broadcast_shapes(batch_of(a), batch_of(b), &shape)) {
    return Fault(Error::kInvalidArgument, "matmul: a %s does not fit %sb %s", shape_text(a).text,
                 transposed != 0 ? "transposed " : "", shape_text(b).text);
  }
  shape.append(a.back(1));
  shape.append(b.back(transposed));
  return set_output("matmul", &out[0], in[0].dtype, shape);
}

Work work(const OpAttrs& attrs, Span<const TensorSpec> in, Span<const TensorSpec> out) {
  return volume(out[0].shape) * trips(in[0].shape.back(0)) + work_by_size(attrs, in, out);
}

struct Sizes {
  int64_t m, n, k;
};

template <class T>
void multiply(const Sizes& s, const T* a, const T* b, T* y) {
  for (int64_t i = 0; i < s.m; ++i, y += s.n) {
    for (int64_t j = 0; j < s.n; ++j) y[j] = 0;
    for (int64_t k = 0; k < s.k; ++k) add_scaled(y, b + k * s.n, a[i * s.k + k], s.n);
  }
}

template <class T>
void multiply_transposed(const Sizes& s, const T* a, const T* b, T* y) {
  for (int64_t i = 0; i < s.m; ++i) {
    for (int64_t j = 0; j < s.n; ++j) *y++ = dot(a + i * s.k, b + j * s.k, s.k);
  }
}

template <class T>
Fault run_typed(const RunContext& context) {
  const TensorView& a = context.inputs[0];
  const TensorView& b = context.inputs[1];
  const TensorView& y = context.outputs[0];
  const bool transposed = context.attrs.as<fb::MatMul>().transpose_b();
  const Sizes s = {y.shape.back(1), y.shape.back(0), a.shape.back(0)};
  const Shape batch = batch_of(y.shape);
  const LoopNest<3> loops(batch, {row_major(batch), broadcast_strides(batch_of(a.shape), batch),
                                  broadcast_strides(batch_of(b.shape), batch)});
  loops.for_each_row([&](const int64_t* offset, int64_t count, const int64_t* step) {
    for (int64_t i = 0; i < count; ++i) {
      T* out = y.as<T>() + (offset[0] + i * step[0]) * s.m * s.n;
      const T* left = a.as<const T>() + (offset[1] + i * step[1]) * s.m * s.k;
      const T* right = b.as<const T>() + (offset[2] + i * step[2]) * s.k * s.n;
      if (transposed)
        multiply_transposed(s, left, right, out);
      else
        multiply(s, left, right, out);
    }
  });
  return Fault();
}

Fault run(void*, const RunContext& context) {
  if (context.outputs[0].numel() == 0) return {};
  return visit_dtype(NumberTypes{}, context.inputs[0].dtype,
                     [&](auto type) { return run_typed<typename decltype(type)::type>(context); });
}

}  // namespace

const OpDef matmul_op = define_op(infer, work, run).with_inputs(2, 2);

}  // namespace lazyrt
