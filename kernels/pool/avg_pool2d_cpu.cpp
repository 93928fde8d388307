// NHWC average pooling in vectors over channels. XNNPACK's pooling never counts the padding;
// torch's can.

#include "kernels/pool/window_rows_cpu.h"

namespace lazyrt {

extern const Kernel avg_pool2d_cpu;

namespace {

int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/// The divisor for the sum of the window at (top, left).
int64_t divisor_of(const fb::AvgPool2d& a, const Shape& x, int64_t top, int64_t left,
                   int64_t inside) {
  if (a.divisor_override() != 0) return a.divisor_override();
  if (!a.count_include_pad()) return inside;
  return (smaller(top + a.kernel_h(), x[1] + a.pad_bottom()) - top) *
         (smaller(left + a.kernel_w(), x[2] + a.pad_right()) - left);
}

Fault run(void*, const RunContext& context) {
  const CpuServices& cpu = cpu_services(context);
  const auto& a = context.attrs.as<fb::AvgPool2d>();
  const Shape& s = context.inputs[0].shape;
  const float* x = context.inputs[0].as<const float>();
  const auto channels = static_cast<size_t>(s[3]);
  for_output_pixels(
      cpu, context.outputs[0], most_taps(a.kernel_h(), s[1]) * most_taps(a.kernel_w(), s[2]),
      [&](int64_t image, int64_t row, int64_t column, float* y) {
        const int64_t top = row * a.stride_h() - a.pad_top();
        const int64_t left = column * a.stride_w() - a.pad_left();
        const PixelWindow window = {x + image * s[1] * s[2] * s[3], s[2], s[3],
                                    taps_inside(top, a.kernel_h(), 1, s[1]),
                                    taps_inside(left, a.kernel_w(), 1, s[2])};
        for (size_t c = 0; window.count() == 0 && c < channels; ++c) y[c] = 0;
        for_window(window, y, [&](const float* const* rows, size_t n) {
          cpu.vector->sum_rows(rows, n, 1.0f, y, channels);
        });
        const int64_t divisor = divisor_of(a, s, top, left, window.count());
        cpu.vector->scale_shift1(y, 1.0f / static_cast<float>(divisor), 0.0f, y, channels);
      });
  return {};
}

}  // namespace

const Kernel avg_pool2d_cpu = {pool_supports, nullptr, run, nullptr};

}  // namespace lazyrt
