// Resizing of images, NHWC, with torch's rules for source coordinates.

#include <algorithm>
#include <cmath>

#include "kernels/common/check.h"
#include "kernels/common/element.h"

namespace lazyrt {

extern const OpDef upsample2d_op;

namespace {

using Mode = fb::UpsampleMode;

/// One output position steps over 1 / scale input positions; with this, float holds any of them.
constexpr double kLeastScale = 1.0 / INT32_MAX;

Status check_dim(Word name, int64_t extent, int64_t outputs, double scale) {
  LAZYRT_RETURN_IF_ERROR(check_range("upsample2d", name, outputs, 1, INT32_MAX));
  LAZYRT_RETURN_IF_ERROR(check_range("upsample2d", "extent of x", extent, 1, INT32_MAX));
  if (scale == 0 || (scale >= kLeastScale && std::isfinite(scale))) return Status();
  return Status(Error::kInvalidArgument,
                "upsample2d: scale of %s is %g, must be 0 (from the extents) or in [%g, inf)", name,
                scale, kLeastScale);
}

Status infer(const OpAttrs& attrs, Span<const TensorSpec> in, Span<TensorSpec> out) {
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

/// How one dim is resized.
template <class T>
struct Axis {
  Mode mode;
  bool align_corners;
  int64_t extent;
  T step;      ///< input positions per output position
  bool keeps;  ///< each output position is an input position
};

template <class T>
Axis<T> make_axis(const fb::Upsample2d& a, int64_t extent, int64_t outputs, double scale) {
  const bool interpolates = a.mode() == Mode::Bilinear || a.mode() == Mode::Bicubic;
  Axis<T> axis = {a.mode(), a.align_corners() && interpolates, extent, 0, false};
  if (axis.align_corners) {
    if (outputs > 1) axis.step = static_cast<T>(extent - 1) / static_cast<T>(outputs - 1);
  } else {
    axis.step =
        scale > 0 ? static_cast<T>(1.0 / scale) : static_cast<T>(extent) / static_cast<T>(outputs);
  }
  axis.keeps = outputs == extent && axis.step == 1;
  return axis;
}

/// The input positions that make up one output position, with their weights.
template <class T>
struct Taps {
  int count = 1;
  int64_t index[4] = {};
  T weight[4] = {1, 0, 0, 0};
};

/// Keys' cubic kernel with a = -0.75 at distance d.
template <class T>
T cubic(T d) {
  constexpr T kA = T(-0.75);
  if (d <= 1) return ((kA + 2) * d - (kA + 3)) * d * d + 1;
  return ((kA * d - 5 * kA) * d + 8 * kA) * d - 4 * kA;
}

/// An index of whatever float, cut into the input before the conversion; NaN is 0.
template <class T>
int64_t clamped(T index, int64_t extent) {
  const T last = static_cast<T>(extent - 1);
  return !(index > 0) ? 0 : index >= last ? extent - 1 : static_cast<int64_t>(index);
}

template <class T>
Taps<T> taps_at(const Axis<T>& axis, int64_t o) {
  Taps<T> taps;
  const T at = static_cast<T>(o);
  if (axis.mode == Mode::Nearest || axis.mode == Mode::NearestExact) {
    const T centre = axis.mode == Mode::Nearest ? T(0) : T(0.5);
    taps.index[0] = clamped(std::floor((at + centre) * axis.step), axis.extent);
    return taps;
  }
  T source = axis.align_corners ? at * axis.step : (at + T(0.5)) * axis.step - T(0.5);
  if (axis.mode == Mode::Bilinear) {
    source = std::max(source, T(0));
    const int64_t first = clamped(source, axis.extent);
    const T fraction = std::min(std::max(source - static_cast<T>(first), T(0)), T(1));
    taps.count = 2;
    taps.index[0] = first;
    taps.index[1] = axis.keeps ? first : std::min(first + 1, axis.extent - 1);
    taps.weight[0] = 1 - fraction;
    taps.weight[1] = fraction;
    return taps;
  }
  const T floor = std::floor(source);
  const T fraction = source - floor;
  taps.count = 4;
  for (int k = 0; k < 4; ++k) {
    taps.index[k] = clamped(floor + static_cast<T>(k - 1), axis.extent);
    taps.weight[k] = cubic(std::fabs(fraction - static_cast<T>(k - 1)));
  }
  return taps;
}

template <class T>
Status run_typed(const RunContext& context) {
  const auto& a = context.attrs.as<fb::Upsample2d>();
  const Shape& x = context.inputs[0].shape;
  const Shape& y = context.outputs[0].shape;
  const Axis<T> rows = make_axis<T>(a, x[1], y[1], a.scale_h());
  const Axis<T> columns = make_axis<T>(a, x[2], y[2], a.scale_w());
  T* out = context.outputs[0].as<T>();
  for (int64_t i = 0; i < y[0] * y[1] * y[2]; ++i, out += y[3]) {
    const T* image = context.inputs[0].as<const T>() + i / (y[1] * y[2]) * x[1] * x[2] * x[3];
    const Taps<T> h = taps_at(rows, i / y[2] % y[1]);
    const Taps<T> w = taps_at(columns, i % y[2]);
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
  return Status();
}

Status run(void*, const RunContext& context) {
  if (context.outputs[0].numel() == 0) return {};
  return visit_dtype(FloatTypes{}, context.inputs[0].dtype,
                     [&](auto type) { return run_typed<typename decltype(type)::type>(context); });
}

}  // namespace

const OpDef upsample2d_op = {1, 1, 1, 0, 0, false, infer, work, {nullptr, nullptr, run, nullptr}};

}  // namespace lazyrt
