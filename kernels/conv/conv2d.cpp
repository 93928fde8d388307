// 2-d convolution, NHWC with OHWI weights, grouped, fused clamp.

#include <algorithm>

#include "kernels/common/arithmetic.h"
#include "kernels/common/check.h"
#include "kernels/common/element.h"
#include "kernels/conv/conv_shape.h"

namespace lazyrt {

extern const OpDef conv2d_op;

namespace {

Fault infer(const OpAttrs& attrs, Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(check_operands("conv2d", conv2d_op, in, out));
  const auto& a = attrs.as<fb::Conv2d>();
  LAZYRT_RETURN_IF_ERROR(check_conv_operands("conv2d", in, a.groups()));
  LAZYRT_RETURN_IF_ERROR(check_clamp("conv2d", a.min(), a.max()));
  const Shape& x = in[0].shape;
  const Shape& weight = in[1].shape;
  int64_t height = 0, width = 0;
  LAZYRT_RETURN_IF_ERROR(count_windows(
      "conv2d",
      {"height", x[1], weight[1], a.stride_h(), a.pad_top(), a.pad_bottom(), a.dilation_h(), false},
      &height));
  LAZYRT_RETURN_IF_ERROR(count_windows(
      "conv2d",
      {"width", x[2], weight[2], a.stride_w(), a.pad_left(), a.pad_right(), a.dilation_w(), false},
      &width));
  return set_output("conv2d", &out[0], in[0].dtype, Shape{x[0], height, width, weight[0]});
}

/// Each output element reads a whole filter; the taps of an empty filter are still walked.
Work work(const OpAttrs& attrs, Span<const TensorSpec> in, Span<const TensorSpec> out) {
  const Shape& weight = in[1].shape;
  const Shape filter = {weight[1], weight[2], weight[3]};
  return volume(out[0].shape) * volume(filter) + work_by_size(attrs, in, out);
}

/// The kernel positions first..last-1 that fall inside an extent for a window starting at `start`.
struct Taps {
  int64_t first, last;
};
Taps taps_inside(int64_t start, int64_t extent, int64_t kernel, int64_t dilation) {
  const int64_t first = start < 0 ? (-start + dilation - 1) / dilation : 0;
  const int64_t last = start < extent ? (extent - start + dilation - 1) / dilation : 0;
  return {std::min(first, kernel), std::min(last, kernel)};
}

/// One output element: the window at (top, left) of `image` against one filter; c0 is the first
/// channel of the filter's group.
template <class T>
T convolve(const fb::Conv2d& a, const T* image, const Shape& x, const T* filter,
           const Shape& weight, int64_t top, int64_t left, int64_t c0) {
  const int64_t depth = weight[3];
  const Taps rows = taps_inside(top, x[1], weight[1], a.dilation_h());
  const Taps columns = taps_inside(left, x[2], weight[2], a.dilation_w());
  const int64_t count = std::max<int64_t>(columns.last - columns.first, 0);
  const bool contiguous = a.dilation_w() == 1 && depth == x[3];
  T sum = 0;
  if (count == 0) return sum;  // no tap is inside, so the pixel of the first one is not either
  for (int64_t kh = rows.first; kh < rows.last; ++kh) {
    const int64_t row = (top + kh * a.dilation_h()) * x[2];
    const T* w = filter + (kh * weight[2] + columns.first) * depth;
    const T* pixel = image + (row + left + columns.first * a.dilation_w()) * x[3] + c0;
    if (contiguous) {
      sum += dot(pixel, w, count * depth);
      continue;
    }
    for (int64_t i = 0; i < count; ++i) {
      sum += dot(pixel + i * a.dilation_w() * x[3], w + i * depth, depth);
    }
  }
  return sum;
}

template <class T>
Fault run_typed(const RunContext& context) {
  const auto& a = context.attrs.as<fb::Conv2d>();
  const Shape& x = context.inputs[0].shape;
  const Shape& weight = context.inputs[1].shape;
  const Shape& y = context.outputs[0].shape;
  const T* filters = context.inputs[1].as<const T>();
  const T* bias = operand_or_absent(context.inputs, 2).as<const T>();
  T* out = context.outputs[0].as<T>();
  const int64_t filter_size = weight[1] * weight[2] * weight[3];
  const int64_t group_filters = weight[0] / a.groups();
  for (int64_t n = 0; n < y[0]; ++n) {
    const T* image = context.inputs[0].as<const T>() + n * x[1] * x[2] * x[3];
    for (int64_t i = 0; i < y[1] * y[2]; ++i) {
      const int64_t top = i / y[2] * a.stride_h() - a.pad_top();
      const int64_t left = i % y[2] * a.stride_w() - a.pad_left();
      for (int64_t o = 0; o < weight[0]; ++o) {
        const int64_t c0 = o / group_filters * weight[3];
        const T sum = convolve(a, image, x, filters + o * filter_size, weight, top, left, c0);
        *out++ = clamp(sum + (bias == nullptr ? T(0) : bias[o]), T(a.min()), T(a.max()));
      }
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

const OpDef conv2d_op = define_op(infer, work, run).with_inputs(2, 3).with_optional_inputs(0b100);

}  // namespace lazyrt
