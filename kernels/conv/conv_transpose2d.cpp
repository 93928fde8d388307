// Transposed 2-d convolution, NHWC with OHWI weights: the gradient of conv2d, as torch defines it.

#include "kernels/common/arithmetic.h"
#include "kernels/common/check.h"
#include "kernels/common/element.h"
#include "kernels/conv/conv_shape.h"

namespace lazyrt {

extern const OpDef conv_transpose2d_op;

namespace {

/// One spatial dim of the transposed convolution.
struct Dim {
  const char* name;
  int64_t extent, kernel, stride, pad_before, pad_after, output_pad, dilation;
};

Fault count_outputs(const Dim& d, int64_t* count) {
  constexpr const char* kOp = "conv_transpose2d";
  int64_t ignored = 0;
  // Checks hostile values as in a convolution over an extent that certainly holds the kernel.
  LAZYRT_RETURN_IF_ERROR(count_windows(
      kOp,
      {d.name, int64_t{1} << 62, d.kernel, d.stride, d.pad_before, d.pad_after, d.dilation, false},
      &ignored));
  const int64_t limit = d.stride > d.dilation ? d.stride : d.dilation;
  LAZYRT_RETURN_IF_ERROR(check_range(kOp, "output_pad", d.output_pad, 0, limit - 1));
  LAZYRT_RETURN_IF_ERROR(check_range(kOp, d.name, d.extent, 1, int64_t{1} << 31));
  *count = (d.extent - 1) * d.stride - d.pad_before - d.pad_after + d.dilation * (d.kernel - 1) +
           d.output_pad + 1;
  if (*count >= 1) return Fault();
  return Fault(Error::kInvalidArgument, "%s: the output's %s would be %lld", kOp, d.name,
               static_cast<long long>(*count));
}

Fault infer(const OpAttrs& attrs, Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(check_operands("conv_transpose2d", conv_transpose2d_op, in, out));
  const auto& a = attrs.as<fb::ConvTranspose2d>();
  LAZYRT_RETURN_IF_ERROR(check_conv_operands("conv_transpose2d", in, a.groups()));
  LAZYRT_RETURN_IF_ERROR(check_clamp("conv_transpose2d", a.min(), a.max()));
  const Shape& x = in[0].shape;
  const Shape& weight = in[1].shape;
  int64_t height = 0, width = 0;
  LAZYRT_RETURN_IF_ERROR(count_outputs({"height", x[1], weight[1], a.stride_h(), a.pad_top(),
                                        a.pad_bottom(), a.output_pad_h(), a.dilation_h()},
                                       &height));
  LAZYRT_RETURN_IF_ERROR(count_outputs({"width", x[2], weight[2], a.stride_w(), a.pad_left(),
                                        a.pad_right(), a.output_pad_w(), a.dilation_w()},
                                       &width));
  return set_output("conv_transpose2d", &out[0], in[0].dtype,
                    Shape{x[0], height, width, weight[0]});
}

/// Each output element visits every tap; packing makes a filter for each position within the
/// stride.
Work work(const OpAttrs& attrs, Span<const TensorSpec> in, Span<const TensorSpec> out) {
  const auto& a = attrs.as<fb::ConvTranspose2d>();
  const Shape& weight = in[1].shape;
  const Shape filter = {weight[1], weight[2], weight[3]};
  return volume(out[0].shape) * volume(filter) + Work(a.stride_h()) * Work(a.stride_w()) +
         work_by_size(attrs, in, out);
}

/// The input position that kernel tap k sends to output position `at`, or -1 if none does.
int64_t source(int64_t at, int64_t k, int64_t pad, int64_t dilation, int64_t stride,
               int64_t extent) {
  const int64_t scaled = at + pad - k * dilation;
  if (scaled < 0 || scaled % stride != 0 || scaled / stride >= extent) return -1;
  return scaled / stride;
}

/// y += the pixel that one kernel tap reads, for all filters.
template <class T>
void add_tap(T* y, const T* pixel, const T* tap, const Shape& weight, int64_t groups) {
  const int64_t filter_size = weight[1] * weight[2] * weight[3];
  const int64_t group_filters = weight[0] / groups;
  for (int64_t o = 0; o < weight[0]; ++o) {
    y[o] += dot(pixel + o / group_filters * weight[3], tap + o * filter_size, weight[3]);
  }
}

/// Adds to y [O], which begins as zeros, all taps that reach output position (oh, ow).
template <class T>
void gather_taps(const fb::ConvTranspose2d& a, const T* image, const Shape& x, const T* filters,
                 const Shape& weight, int64_t oh, int64_t ow, T* y) {
  for (int64_t kh = 0; kh < weight[1]; ++kh) {
    const int64_t h = source(oh, kh, a.pad_top(), a.dilation_h(), a.stride_h(), x[1]);
    for (int64_t kw = 0; h >= 0 && kw < weight[2]; ++kw) {
      const int64_t w = source(ow, kw, a.pad_left(), a.dilation_w(), a.stride_w(), x[2]);
      if (w < 0) continue;
      const T* tap = filters + (kh * weight[2] + kw) * weight[3];
      add_tap(y, image + (h * x[2] + w) * x[3], tap, weight, a.groups());
    }
  }
}

template <class T>
Fault run_typed(const RunContext& context) {
  const auto& a = context.attrs.as<fb::ConvTranspose2d>();
  const Shape& x = context.inputs[0].shape;
  const Shape& weight = context.inputs[1].shape;
  const Shape& y = context.outputs[0].shape;
  const T* bias = operand_or_absent(context.inputs, 2).as<const T>();
  T* out = context.outputs[0].as<T>();
  for (int64_t n = 0; n < y[0]; ++n) {
    const T* image = context.inputs[0].as<const T>() + n * x[1] * x[2] * x[3];
    for (int64_t i = 0; i < y[1] * y[2]; ++i, out += y[3]) {
      for (int64_t o = 0; o < y[3]; ++o) out[o] = 0;
      gather_taps(a, image, x, context.inputs[1].as<const T>(), weight, i / y[2], i % y[2], out);
      for (int64_t o = 0; o < y[3]; ++o) {
        out[o] = clamp(out[o] + (bias == nullptr ? T(0) : bias[o]), T(a.min()), T(a.max()));
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

const OpDef conv_transpose2d_op =
    define_op(infer, work, run).with_inputs(2, 3).with_optional_inputs(0b100);

}  // namespace lazyrt
