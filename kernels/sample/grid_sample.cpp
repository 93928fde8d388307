// Images and volumes, channels last, read at computed positions, as torch's grid_sample.

#include "kernels/common/check.h"
#include "kernels/common/element.h"
#include "kernels/sample/sample_taps.h"

namespace lazyrt {

extern const OpDef grid_sample_op;

namespace {

Fault check_attributes(const fb::GridSample& a, int rank) {
  LAZYRT_RETURN_IF_ERROR(check_range("grid_sample", "mode", static_cast<int>(a.mode()), 0,
                                     static_cast<int>(fb::SampleMode::MAX)));
  LAZYRT_RETURN_IF_ERROR(check_range("grid_sample", "padding", static_cast<int>(a.padding()), 0,
                                     static_cast<int>(fb::SamplePadding::MAX)));
  if (rank == 4 || (rank == 5 && a.mode() != fb::SampleMode::Bicubic)) return Fault();
  return Fault(Error::kInvalidArgument,
               "grid_sample: x has %d dims, must have 4 (images) or 5 (volumes, not Bicubic)",
               rank);
}

Fault infer(const OpAttrs& attrs, Span<const TensorSpec> in, Span<TensorSpec> out) {
  LAZYRT_RETURN_IF_ERROR(check_operands("grid_sample", grid_sample_op, in, out));
  LAZYRT_RETURN_IF_ERROR(check_dtype("grid_sample", "x", in[0], kFloatTypes));
  const Shape& x = in[0].shape;
  const int rank = x.rank();
  LAZYRT_RETURN_IF_ERROR(check_attributes(attrs.as<fb::GridSample>(), rank));
  LAZYRT_RETURN_IF_ERROR(check_rank("grid_sample", "grid", in[1], rank));
  for (int d = 1; d + 1 < rank; ++d) {
    LAZYRT_RETURN_IF_ERROR(check_range("grid_sample", "extent of x", x[d], 1, INT32_MAX));
  }
  Shape grid = in[1].shape;
  grid[0] = x[0];
  grid[rank - 1] = rank - 2;
  LAZYRT_RETURN_IF_ERROR(check_operand("grid_sample", "grid", in[1], in[0].dtype, grid));
  grid[rank - 1] = x[rank - 1];
  return set_output("grid_sample", &out[0], in[0].dtype, grid);
}

Work work(const OpAttrs& attrs, Span<const TensorSpec> in, Span<const TensorSpec> out) {
  const fb::SampleMode mode = attrs.as<fb::GridSample>().mode();
  const Work taps = mode == fb::SampleMode::Bicubic ? 16 : mode == fb::SampleMode::Bilinear ? 8 : 1;
  return volume(out[0].shape) * taps + volume(in[1].shape) * (kMathCall + taps) +
         work_by_size(attrs, in, out);
}

template <class T>
Fault run_typed(const RunContext& context) {
  const TensorView& x = context.inputs[0];
  const Shape& y = context.outputs[0].shape;
  const Sampler<T> sampler(context.attrs.as<fb::GridSample>(), x.shape);
  const int64_t channels = y.back(0);
  if (y.numel() == 0) return Fault();
  const int64_t points = y.numel() / channels;
  T* out = context.outputs[0].as<T>();
  for (int64_t i = 0; i < points; ++i, out += channels) {
    const T* image = x.as<const T>() + i / (points / y[0]) * sampler.pixels() * channels;
    const SamplePoint<T> point =
        sampler.point(context.inputs[1].as<const T>() + i * sampler.dims());
    for (int64_t c = 0; c < channels; ++c) {
      T sum = 0;
      sampler.for_taps(point, [&](T weight, int64_t pixel) {
        sum += weight * (pixel < 0 ? T(0) : image[pixel * channels + c]);
      });
      out[c] = sum;
    }
  }
  return Fault();
}

Fault run(void*, const RunContext& context) {
  return visit_dtype(FloatTypes{}, context.inputs[0].dtype,
                     [&](auto type) { return run_typed<typename decltype(type)::type>(context); });
}

}  // namespace

const OpDef grid_sample_op = define_op(infer, work, run).with_inputs(2, 2);

}  // namespace lazyrt
