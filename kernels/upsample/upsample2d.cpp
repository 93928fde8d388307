// Resizing of images, NHWC, with torch's rules for source coordinates.

#include <cmath>

#include "kernels/common/check.h"
#include "kernels/common/element.h"
#include "kernels/upsample/upsample_taps.h"

namespace lazyrt {

extern const OpDef upsample2d_op;

namespace {

using Mode = fb::UpsampleMode;

/// One output position steps over 1 / scale input positions; at this scale, float can still hold
/// any of them.
constexpr double kLeastScale = 1.0 / INT32_MAX;

Fault check_dim(Word name, int64_t extent, int64_t outputs, double scale) {
  LAZYRT_RETURN_IF_ERROR(check_range("upsample2d", name, outputs, 1, INT32_MAX));
  LAZYRT_RETURN_IF_ERROR(check_range("upsample2d", "extent of x", extent, 1, INT32_MAX));
  if (scale == 0 || (scale >= kLeastScale && std::isfinite(scale))) return Fault();
  return Fault(Error::kInvalidArgument,
               "upsample2d: scale of %s is %g, must be 0 (from the extents) or in [%g, inf)", name,
               scale, kLeastScale);
}

Fault infer(const OpAttrs& attrs, Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(check_operands("upsample2d", upsample2d_op, in, out));
  const auto& a = attrs.as<fb::Upsample2d>();
  LAZYRT_RETURN_IF_ERROR(check_range("upsample2d", "mode", static_cast<int>(a.mode()), 0,
                                     static_cast<int>(Mode::MAX)));
  LAZYRT_RETURN_IF_ERROR(check_dtype("upsample2d", "x", in[0], kFloatTypes));
  LAZYRT_RETURN_IF_ERROR(check_rank("upsample2d", "x", in[0], 4));
  const Shape& x = in[0].shape;
  LAZYRT_RETURN_IF_ERROR(check_dim("out_h", x[1], a.out_h(), a.scale_h()));
  LAZYRT_RETURN_IF_ERROR(check_dim("out_w", x[2], a.out_w(), a.scale_w()));
  return set_output("upsample2d", &out[0], in[0].dtype, Shape{x[0], a.out_h(), a.out_w(), x[3]});
}

Work work(const OpAttrs& attrs, Span<const TensorSpec> in, Span<const TensorSpec> out) {
  const Mode mode = attrs.as<fb::Upsample2d>().mode();
  const Work taps = mode == Mode::Bicubic ? 16 : mode == Mode::Bilinear ? 4 : 1;
  return volume(out[0].shape) * taps + work_by_size(attrs, in, out);
}

template <class T>
Fault run_typed(const RunContext& context) {
  const auto& a = context.attrs.as<fb::Upsample2d>();
  const Shape& x = context.inputs[0].shape;
  const Shape& y = context.outputs[0].shape;
  const ResizedAxis<T> rows = resized_axis<T>(a, x[1], y[1], a.scale_h());
  const ResizedAxis<T> columns = resized_axis<T>(a, x[2], y[2], a.scale_w());
  T* out = context.outputs[0].as<T>();
  for (int64_t i = 0; i < y[0] * y[1] * y[2]; ++i, out += y[3]) {
    const T* image = context.inputs[0].as<const T>() + i / (y[1] * y[2]) * x[1] * x[2] * x[3];
    const ResizeTaps<T> h = resize_taps(rows, i / y[2] % y[1]);
    const ResizeTaps<T> w = resize_taps(columns, i % y[2]);
    for (int64_t c = 0; c < y[3]; ++c) {
      T sum = 0;
      for (int j = 0; j < h.count; ++j) {
        T row = 0;
        for (int k = 0; k < w.count; ++k) {
          row += w.weight[k] * image[(h.index[j] * x[2] + w.index[k]) * x[3] + c];
        }
        sum += h.weight[j] * row;
      }
      out[c] = sum;
    }
  }
  return Fault();
}

Fault run(void*, const RunContext& context) {
  if (context.outputs[0].numel() == 0) return {};
  return visit_dtype(FloatTypes{}, context.inputs[0].dtype,
                     [&](auto type) { return run_typed<typename decltype(type)::type>(context); });
}

}  // namespace

const OpDef upsample2d_op = define_op(infer, work, run);

}  // namespace lazyrt
