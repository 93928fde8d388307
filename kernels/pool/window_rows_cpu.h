#pragma once

// The common parts of the pools' cpu kernels: a window of NHWC pixels as a list of rows of
// channels.

#include <cmath>

#include "runtime/backends/cpu/cpu_backend.h"

namespace lazyrt {

/// The taps of one dim that lie inside the input: index of the first, their number, their distance.
struct Taps {
  int64_t first = 0;
  int64_t count = 0;
  int64_t step = 1;
};

/// Taps of the window that begins at `start` (may be negative) with `kernel` taps `dilation` apart.
inline Taps taps_inside(int64_t start, int64_t kernel, int64_t dilation, int64_t extent) {
  const int64_t skipped = start < 0 ? (-start + dilation - 1) / dilation : 0;
  const int64_t first = start + skipped * dilation;
  const int64_t room = extent > first ? (extent - first + dilation - 1) / dilation : 0;
  const int64_t left = kernel > skipped ? kernel - skipped : 0;
  return {first, left < room ? left : room, dilation};
}

/// A window of pixels of one image.
struct PixelWindow {
  const float* image;
  int64_t width, channels;
  Taps rows, columns;

  int64_t count() const { return rows.count * columns.count; }
};

/// Calls use(list, n) with lists of at most kTapsAtOnce rows of channels, each list after the first
/// led by `y`, so that an associative `use` that writes y combines all rows of the window.
constexpr size_t kTapsAtOnce = 64;
template <class Use>
void for_window(const PixelWindow& w, float* y, const Use& use) {
  const float* list[kTapsAtOnce];
  size_t n = 0;
  for (int64_t i = 0; i < w.rows.count; ++i) {
    const int64_t row = w.rows.first + i * w.rows.step;
    for (int64_t j = 0; j < w.columns.count; ++j) {
      if (n == kTapsAtOnce) {
        use(list, n);
        list[0] = y;
        n = 1;
      }
      const int64_t column = w.columns.first + j * w.columns.step;
      list[n++] = w.image + (row * w.width + column) * w.channels;
    }
  }
  if (n > 0) use(list, n);
}

/// The largest number of taps that a window of this kernel has inside an extent.
inline size_t most_taps(int64_t kernel, int64_t extent) {
  return static_cast<size_t>(kernel < extent ? kernel : extent);
}

/// Calls body(image index, output row, output column, y) for every output pixel, on all threads;
/// `taps` is the most that a window has. REQUIRES: the taps of all windows are bounded work.
template <class Body>
void for_output_pixels(const CpuServices& cpu, const TensorView& y, size_t taps, const Body& body) {
  const Shape& s = y.shape;
  float* out = y.as<float>();
  const auto rows = static_cast<size_t>(s[0] * s[1]);
  parallel_for(cpu, rows, grain_of(static_cast<size_t>(s[2] * s[3]) * taps),
               [&](size_t begin, size_t end) {
                 for (auto r = static_cast<int64_t>(begin); r < static_cast<int64_t>(end); ++r) {
                   for (int64_t c = 0; c < s[2]; ++c) {
                     body(r / s[1], r % s[1], c, out + (r * s[2] + c) * s[3]);
                   }
                 }
               });
}

inline Fault pool_supports(const NodeSpec& node) {
  if (node.inputs[0].dtype == DType::kFloat32 && node.inputs[0].numel() > 0) return {};
  return Fault(Error::kUnsupported, "pool: only f32 that is not empty");
}

}  // namespace lazyrt
