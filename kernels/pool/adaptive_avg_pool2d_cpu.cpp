// NHWC adaptive average pooling in vectors over channels.

#include "kernels/pool/window_rows_cpu.h"

namespace lazyrt {

extern const Kernel adaptive_avg_pool2d_cpu;

namespace {

/// Window i of `out` over `extent` pixels, by torch's rule.
Taps adaptive_taps(int64_t i, int64_t extent, int64_t out) {
  const int64_t first = i * extent / out;
  const int64_t end = ((i + 1) * extent + out - 1) / out;
  return {first, end - first, 1};
}

Fault run(void*, const RunContext& context) {
  const CpuServices& cpu = cpu_services(context);
  const Shape& s = context.inputs[0].shape;
  const Shape& o = context.outputs[0].shape;
  const float* x = context.inputs[0].as<const float>();
  const auto channels = static_cast<size_t>(s[3]);
  const auto taps = static_cast<size_t>(s[1] * s[2] / (o[1] * o[2]) + 1);
  for_output_pixels(cpu, context.outputs[0], taps,
                    [&](int64_t image, int64_t row, int64_t column, float* y) {
                      const PixelWindow window = {x + image * s[1] * s[2] * s[3], s[2], s[3],
                                                  adaptive_taps(row, s[1], o[1]),
                                                  adaptive_taps(column, s[2], o[2])};
                      for_window(window, y, [&](const float* const* rows, size_t n) {
                        cpu.vector->sum_rows(rows, n, 1.0f, y, channels);
                      });
                      const float scale = 1.0f / static_cast<float>(window.count());
                      cpu.vector->scale_shift1(y, scale, 0.0f, y, channels);
                    });
  return {};
}

Fault supports(const NodeSpec& node) {
  if (node.outputs[0].numel() == 0) return Fault(Error::kUnsupported, "pool: empty result");
  return pool_supports(node);
}

}  // namespace

const Kernel adaptive_avg_pool2d_cpu = {supports, nullptr, run, nullptr};

}  // namespace lazyrt
