// grid_sample in vectors over channels, the output positions on all threads.

#include "kernels/sample/sample_taps.h"
#include "runtime/backends/cpu/cpu_backend.h"

namespace lazyrt {

extern const Kernel grid_sample_cpu;

namespace {

Fault supports(const NodeSpec& node) {
  if (node.inputs[0].dtype == DType::kFloat32 && node.outputs[0].numel() > 0) return {};
  return Fault(Error::kUnsupported, "only f32 that is not empty");
}

/// Computes one output position. `y` begins as the contribution of taps outside, which is 0 or NaN.
void sample(const VectorOps& vector, const Sampler<float>& sampler, const float* grid,
            const float* image, float* y, size_t channels) {
  const SamplePoint<float> point = sampler.point(grid);
  float outside = 0;
  sampler.for_taps(point, [&](float weight, int64_t pixel) {
    if (pixel < 0) outside += weight * 0;
  });
  for (size_t c = 0; c < channels; ++c) y[c] = outside;
  sampler.for_taps(point, [&](float weight, int64_t pixel) {
    if (pixel < 0) return;
    vector.axpy(weight, image + static_cast<size_t>(pixel) * channels, y, channels);
  });
}

Fault run(void*, const RunContext& context) {
  const CpuServices& cpu = cpu_services(context);
  const TensorView& x = context.inputs[0];
  const Shape& y = context.outputs[0].shape;
  const Sampler<float> sampler(context.attrs.as<fb::GridSample>(), x.shape);
  const auto channels = static_cast<size_t>(y.back(0));
  const auto dims = static_cast<size_t>(sampler.dims());
  const size_t points = static_cast<size_t>(y.numel()) / channels;
  const size_t points_of_image = points / static_cast<size_t>(y[0]);
  const size_t image_size = static_cast<size_t>(sampler.pixels()) * channels;
  const float* grid = context.inputs[1].as<const float>();
  float* out = context.outputs[0].as<float>();
  parallel_for(cpu, points, grain_of(channels * 4 + 64), [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const float* image = x.as<const float>() + i / points_of_image * image_size;
      sample(*cpu.vector, sampler, grid + i * dims, image, out + i * channels, channels);
    }
  });
  return {};
}

}  // namespace

const Kernel grid_sample_cpu = {supports, nullptr, run, nullptr};

}  // namespace lazyrt
