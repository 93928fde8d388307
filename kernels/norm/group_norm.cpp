// Group norm; the channels may be any dim but the first (1 = NCHW order, last = NHWC).

#include <cmath>

#include "kernels/common/check.h"
#include "kernels/common/element.h"
#include "kernels/common/strides.h"

namespace lazyrt {

extern const OpDef group_norm_op;

namespace {

Fault infer(const OpAttrs& attrs, Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(check_operands("group_norm", group_norm_op, in, out));
  const auto& a = attrs.as<fb::GroupNorm>();
  const TensorSpec& x = in[0];
  LAZYRT_RETURN_IF_ERROR(check_dtype("group_norm", "x", x, kFloatTypes));
  LAZYRT_RETURN_IF_ERROR(check_min_rank("group_norm", "x", x, 2));
  LAZYRT_RETURN_IF_ERROR(
      check_range("group_norm", "channel_axis", a.channel_axis(), 1, x.shape.rank() - 1));
  LAZYRT_RETURN_IF_ERROR(check_epsilon("group_norm", a.epsilon()));
  const int64_t channels = x.shape[a.channel_axis()];
  if (a.groups() < 1 || channels % a.groups() != 0) {
    return Fault(Error::kInvalidArgument, "group_norm: groups %d does not divide %lld channels",
                 a.groups(), static_cast<long long>(channels));
  }
  const Shape row = {channels};
  LAZYRT_RETURN_IF_ERROR(
      check_operand("group_norm", "weight", operand_or_absent(in, 1), x.dtype, row));
  LAZYRT_RETURN_IF_ERROR(
      check_operand("group_norm", "bias", operand_or_absent(in, 2), x.dtype, row));
  return set_output("group_norm", &out[0], x.dtype, x.shape);
}

/// One group as [outer, channels, inner], and the distance between outer steps.
struct Group {
  int64_t outer, outer_step, channels, inner;

  int64_t count() const { return outer * channels * inner; }
  /// Calls f(offset, channel) for every element.
  template <class F>
  void for_each(F&& f) const {
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t c = 0; c < channels; ++c) {
        for (int64_t i = 0; i < inner; ++i) f(o * outer_step + c * inner + i, c);
      }
    }
  }
};

/// weight and bias belong to the group, or are nullptr.
template <class T>
void normalize(const Group& group, double epsilon, const T* x, const T* weight, const T* bias,
               T* y) {
  double sum = 0;
  group.for_each([&](int64_t at, int64_t) { sum += static_cast<double>(x[at]); });
  const double mean = sum / static_cast<double>(group.count());
  double squares = 0;
  group.for_each([&](int64_t at, int64_t) {
    const double d = static_cast<double>(x[at]) - mean;
    squares += d * d;
  });
  const double scale = 1 / std::sqrt(squares / static_cast<double>(group.count()) + epsilon);
  group.for_each([&](int64_t at, int64_t c) {
    const double normal = (static_cast<double>(x[at]) - mean) * scale;
    y[at] = static_cast<T>(normal * (weight == nullptr ? 1.0 : static_cast<double>(weight[c])) +
                           (bias == nullptr ? 0.0 : static_cast<double>(bias[c])));
  });
}

template <class T>
Fault run_typed(const RunContext& context) {
  const auto& a = context.attrs.as<fb::GroupNorm>();
  const Shape& shape = context.inputs[0].shape;
  const T* weight = operand_or_absent(context.inputs, 1).as<const T>();
  const T* bias = operand_or_absent(context.inputs, 2).as<const T>();
  if (shape.numel() == 0) return Fault();
  const AxisView v = axis_view(shape, a.channel_axis());
  const int64_t channels = v.extent / a.groups();
  const Group group = {v.outer / shape[0], v.extent * v.inner, channels, v.inner};
  for (int64_t n = 0; n < shape[0]; ++n) {
    for (int64_t g = 0; g < a.groups(); ++g) {
      const int64_t first = (n * group.outer * v.extent + g * channels) * v.inner;
      normalize(group, a.epsilon(), context.inputs[0].as<const T>() + first,
                weight == nullptr ? nullptr : weight + g * channels,
                bias == nullptr ? nullptr : bias + g * channels,
                context.outputs[0].as<T>() + first);
    }
  }
  return Fault();
}

Fault run(void*, const RunContext& context) {
  return visit_dtype(FloatTypes{}, context.inputs[0].dtype,
                     [&](auto type) { return run_typed<typename decltype(type)::type>(context); });
}

}  // namespace

const OpDef group_norm_op = define_op(infer, work_by_size, run)
                                .with_inputs(1, 3)
                                .with_optional_inputs(0b110)
                                .with_inplace_inputs(0b1);

}  // namespace lazyrt
