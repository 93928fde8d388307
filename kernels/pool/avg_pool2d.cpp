// Average pool, NHWC.

#include "kernels/pool/pool_window.h"

namespace lazyrt {

extern const OpDef avg_pool2d_op;

namespace {

Fault infer(const OpAttrs& attrs, Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(check_operands("avg_pool2d", avg_pool2d_op, in, out));
  const auto& a = attrs.as<fb::AvgPool2d>();
  LAZYRT_RETURN_IF_ERROR(
      check_range("avg_pool2d", "divisor_override", a.divisor_override(), 0, INT32_MAX));
  return infer_pool("avg_pool2d", a, 1, 1, in, out);
}

/// The number of a window's elements that count if padding counts: padding up to the declared one,
/// not the extra that ceil_mode reaches into.
int64_t padded_length(int64_t start, int64_t extent, int64_t kernel, int64_t pad_after) {
  return std::min(start + kernel, extent + pad_after) - start;
}

Work work(const OpAttrs& attrs, Span<const TensorSpec> in, Span<const TensorSpec> out) {
  return pool_work(attrs.as<fb::AvgPool2d>(), in[0], out[0]);
}

template <class T>
Fault run_typed(const RunContext& context) {
  const auto& a = context.attrs.as<fb::AvgPool2d>();
  const Shape& x = context.inputs[0].shape;
  for_each_window<T>(context, [&](const T* image, int64_t oh, int64_t ow, T* y) {
    const int64_t top = oh * a.stride_h() - a.pad_top();
    const int64_t left = ow * a.stride_w() - a.pad_left();
    const PoolRange rows = pool_range(top, x[1], a.kernel_h(), 1);
    const PoolRange columns = pool_range(left, x[2], a.kernel_w(), 1);
    int64_t divisor = (rows.last - rows.first) * (columns.last - columns.first);
    if (a.count_include_pad()) {
      divisor = padded_length(top, x[1], a.kernel_h(), a.pad_bottom()) *
                padded_length(left, x[2], a.kernel_w(), a.pad_right());
    }
    if (a.divisor_override() != 0) divisor = a.divisor_override();
    for (int64_t c = 0; c < x[3]; ++c) y[c] = 0;
    if (rows.first >= rows.last || columns.first >= columns.last) return;
    for_each_pixel(image, x, rows, columns, [&](const T* pixel) {
      for (int64_t c = 0; c < x[3]; ++c) y[c] += pixel[c];
    });
    for (int64_t c = 0; c < x[3]; ++c) y[c] /= static_cast<T>(divisor);
  });
  return Fault();
}

Fault run(void*, const RunContext& context) {
  if (context.outputs[0].numel() == 0) return {};
  return visit_dtype(FloatTypes{}, context.inputs[0].dtype,
                     [&](auto type) { return run_typed<typename decltype(type)::type>(context); });
}

}  // namespace

const OpDef avg_pool2d_op = define_op(infer, work, run);

}  // namespace lazyrt
