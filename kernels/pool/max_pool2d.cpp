// Max pool, NHWC; padding is -inf.

#include "kernels/common/arithmetic.h"
#include "kernels/pool/pool_window.h"

namespace lazyrt {

extern const OpDef max_pool2d_op;

namespace {

Fault infer(const OpAttrs& attrs, Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(check_operands("max_pool2d", max_pool2d_op, in, out));
  const auto& a = attrs.as<fb::MaxPool2d>();
  return infer_pool("max_pool2d", a, a.dilation_h(), a.dilation_w(), in, out);
}

Work work(const OpAttrs& attrs, Span<const TensorSpec> in, Span<const TensorSpec> out) {
  return pool_work(attrs.as<fb::MaxPool2d>(), in[0], out[0]);
}

template <class T>
Fault run_typed(const RunContext& context) {
  const auto& a = context.attrs.as<fb::MaxPool2d>();
  const Shape& x = context.inputs[0].shape;
  for_each_window<T>(context, [&](const T* image, int64_t oh, int64_t ow, T* y) {
    const PoolRange rows =
        pool_range(oh * a.stride_h() - a.pad_top(), x[1], a.kernel_h(), a.dilation_h());
    const PoolRange columns =
        pool_range(ow * a.stride_w() - a.pad_left(), x[2], a.kernel_w(), a.dilation_w());
    for (int64_t c = 0; c < x[3]; ++c) y[c] = -std::numeric_limits<T>::infinity();
    for_each_pixel(image, x, rows, columns, [&](const T* pixel) {
      for (int64_t c = 0; c < x[3]; ++c) y[c] = maximum(y[c], pixel[c]);
    });
  });
  return Fault();
}

Fault run(void*, const RunContext& context) {
  if (context.outputs[0].numel() == 0) return {};
  return visit_dtype(FloatTypes{}, context.inputs[0].dtype,
                     [&](auto type) { return run_typed<typename decltype(type)::type>(context); });
}

}  // namespace

const OpDef max_pool2d_op = define_op(infer, work, run);

}  // namespace lazyrt
