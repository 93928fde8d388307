// Average pool to a given size, NHWC, windows as torch's.

#include "kernels/pool/pool_window.h"

namespace lazyrt {

extern const OpDef adaptive_avg_pool2d_op;

namespace {

Fault infer(const OpAttrs& attrs, Span<const TensorSpec> in, Span<TensorSpec> out) {
  constexpr const char* kOp = "adaptive_avg_pool2d";
  LAZYRT_RETURN_IF_ERROR(check_operands(kOp, adaptive_avg_pool2d_op, in, out));
  const auto& a = attrs.as<fb::AdaptiveAvgPool2d>();
  LAZYRT_RETURN_IF_ERROR(check_dtype(kOp, "x", in[0], kFloatTypes));
  LAZYRT_RETURN_IF_ERROR(check_rank(kOp, "x", in[0], 4));
  LAZYRT_RETURN_IF_ERROR(check_range(kOp, "out_h", a.out_h(), 0, INT32_MAX));
  LAZYRT_RETURN_IF_ERROR(check_range(kOp, "out_w", a.out_w(), 0, INT32_MAX));
  const Shape& x = in[0].shape;
  LAZYRT_RETURN_IF_ERROR(check_range(kOp, "height", x[1], 1, INT32_MAX));
  LAZYRT_RETURN_IF_ERROR(check_range(kOp, "width", x[2], 1, INT32_MAX));
  return set_output(kOp, &out[0], in[0].dtype, Shape{x[0], a.out_h(), a.out_w(), x[3]});
}

/// The windows of a dim overlap by at most one position each.
Work work(const OpAttrs&, Span<const TensorSpec> in, Span<const TensorSpec> out) {
  const Shape& x = in[0].shape;
  const Shape& y = out[0].shape;
  return trips(x[0]) * (trips(x[1]) + trips(2 * y[1])) * (trips(x[2]) + trips(2 * y[2])) *
         trips(x[3]);
}

PoolRange window(int64_t o, int64_t outputs, int64_t extent) {
  return {o * extent / outputs, ((o + 1) * extent + outputs - 1) / outputs, 1};
}

template <class T>
Fault run_typed(const RunContext& context) {
  const Shape& x = context.inputs[0].shape;
  const Shape& out = context.outputs[0].shape;
  for_each_window<T>(context, [&](const T* image, int64_t oh, int64_t ow, T* y) {
    const PoolRange rows = window(oh, out[1], x[1]);
    const PoolRange columns = window(ow, out[2], x[2]);
    for (int64_t c = 0; c < x[3]; ++c) y[c] = 0;
    for_each_pixel(image, x, rows, columns, [&](const T* pixel) {
      for (int64_t c = 0; c < x[3]; ++c) y[c] += pixel[c];
    });
    const T count = static_cast<T>((rows.last - rows.first) * (columns.last - columns.first));
    for (int64_t c = 0; c < x[3]; ++c) y[c] /= count;
  });
  return Fault();
}

Fault run(void*, const RunContext& context) {
  if (context.outputs[0].numel() == 0) return {};
  return visit_dtype(FloatTypes{}, context.inputs[0].dtype,
                     [&](auto type) { return run_typed<typename decltype(type)::type>(context); });
}

}  // namespace

const OpDef adaptive_avg_pool2d_op = define_op(infer, work, run);

}  // namespace lazyrt
