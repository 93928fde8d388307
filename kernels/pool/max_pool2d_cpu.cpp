// NHWC max pooling in vectors over channels. XNNPACK's pooling loses NaN and has no 1x1 window.

#include "kernels/pool/window_rows_cpu.h"

namespace lazyrt {

extern const Kernel max_pool2d_cpu;

namespace {

Fault run(void*, const RunContext& context) {
  const CpuServices& cpu = cpu_services(context);
  const auto& a = context.attrs.as<fb::MaxPool2d>();
  const Shape& s = context.inputs[0].shape;
  const float* x = context.inputs[0].as<const float>();
  const auto channels = static_cast<size_t>(s[3]);
  for_output_pixels(
      cpu, context.outputs[0], most_taps(a.kernel_h(), s[1]) * most_taps(a.kernel_w(), s[2]),
      [&](int64_t image, int64_t row, int64_t column, float* y) {
        const PixelWindow window = {
            x + image * s[1] * s[2] * s[3], s[2], s[3],
            taps_inside(row * a.stride_h() - a.pad_top(), a.kernel_h(), a.dilation_h(), s[1]),
            taps_inside(column * a.stride_w() - a.pad_left(), a.kernel_w(), a.dilation_w(), s[2])};
        for (size_t c = 0; window.count() == 0 && c < channels; ++c) y[c] = -HUGE_VALF;
        for_window(window, y, [&](const float* const* rows, size_t n) {
          cpu.vector->max_rows(rows, n, y, channels);
        });
      });
  return {};
}

}  // namespace

const Kernel max_pool2d_cpu = {pool_supports, nullptr, run, nullptr};

}  // namespace lazyrt
