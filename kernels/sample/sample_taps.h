#pragma once

// Which pixels grid_sample reads: from a coordinate in [-1, 1] to input positions and weights.

#include <cmath>
#include <cstdint>

#include "runtime/op/op_def.h"

namespace lazyrt {

/// The positions in one dim that one coordinate reads, with their weights; -1 is outside of the
/// input.
template <class T>
struct SampleTaps {
  int count = 1;
  int64_t index[4] = {};
  T weight[4] = {1, 0, 0, 0};
};

/// One spatial dim of the input. `volume`: one of three, where torch treats NaN differently.
template <class T>
struct SampleAxis {
  fb::SampleMode mode = fb::SampleMode::Bilinear;
  fb::SamplePadding padding = fb::SamplePadding::Zeros;
  bool align_corners = false;
  bool volume = false;
  int64_t extent = 1;

  SampleTaps<T> taps(T coordinate) const {
    T at = pixel(coordinate);
    if (mode == fb::SampleMode::Bicubic) return cubic_taps(at);
    at = padded(at);
    if (volume && !std::isfinite(at)) at = -100;
    SampleTaps<T> taps;
    if (mode == fb::SampleMode::Nearest) {
      taps.index[0] = inside(std::nearbyint(at));
      return taps;
    }
    const T floor = std::floor(at);
    taps.count = 2;
    taps.index[0] = inside(floor), taps.index[1] = inside(floor + 1);
    taps.weight[1] = at - floor;
    taps.weight[0] = 1 - taps.weight[1];
    return taps;
  }

 private:
  T pixel(T coordinate) const {
    const T size = static_cast<T>(extent);
    if (volume) {  // torch's other formula, which overflows elsewhere
      return align_corners ? (coordinate + 1) / 2 * (size - 1) : ((coordinate + 1) * size - 1) / 2;
    }
    return align_corners ? (coordinate + 1) * ((size - 1) / 2)
                         : (coordinate + 1) * (size / 2) - T(0.5);
  }

  /// Mirrors at the first and last pixel's centres (align_corners) or at their outer edges.
  T reflected(T at) const {
    if (align_corners && extent == 1) return 0;
    const T low = align_corners ? T(0) : T(-0.5);
    const T period = static_cast<T>(2 * (align_corners ? extent - 1 : extent));
    const T from_low = std::fabs(at - low);
    if (volume) return reflected_exactly(from_low, period / 2) + low;
    const T rest = from_low - std::trunc(from_low / period) * period;
    return (rest > period - rest ? period - rest : rest) + low;
  }

  /// The same as torch does it in volumes: by the remainder; numbers of turns that int cannot hold
  /// count as even.
  static T reflected_exactly(T from_low, T span) {
    const T turns = std::floor(from_low / span), rest = std::fmod(from_low, span);
    const bool back = turns < T(0x1p31) && std::fmod(turns, T(2)) != 0;
    return back ? span - rest : rest;
  }

  /// NaN becomes the first pixel, in volumes the last, as in torch.
  T padded(T at) const {
    if (padding == fb::SamplePadding::Zeros) return at;
    if (padding == fb::SamplePadding::Reflection) at = reflected(at);
    const T last = static_cast<T>(extent - 1);
    if (std::isnan(at)) return volume ? last : T(0);
    return at < 0 ? T(0) : at > last ? last : at;
  }

  int64_t inside(T position) const {
    const bool is = position >= 0 && position < static_cast<T>(extent);
    const int64_t index = is ? static_cast<int64_t>(position) : -1;
    return index < extent ? index : -1;
  }

  /// Keys' cubic kernel with a = -0.75; padding applies to each of the four positions.
  SampleTaps<T> cubic_taps(T at) const {
    constexpr T kA = T(-0.75);
    const T floor = std::floor(at);
    const T fraction = at - floor;
    SampleTaps<T> taps;
    taps.count = 4;
    for (int k = 0; k < 4; ++k) {
      const T d = std::fabs(fraction - static_cast<T>(k - 1));
      taps.index[k] = inside(padded(floor + static_cast<T>(k - 1)));
      taps.weight[k] = k == 1 || k == 2 ? ((kA + 2) * d - (kA + 3)) * d * d + 1
                                        : ((kA * d - 5 * kA) * d + 8 * kA) * d - 4 * kA;
    }
    return taps;
  }
};

/// The taps of one output position: depth (one tap in images), height, width.
template <class T>
struct SamplePoint {
  SampleTaps<T> depth, height, width;
};

/// How a node samples: one axis for each spatial dim of x [N,(D,)H,W,C].
template <class T>
class Sampler {
 public:
  Sampler(const fb::GridSample& a, const Shape& x)
      : dims_(x.rank() - 2),
        depth_(axis(a, dims_ == 3 ? x[1] : 1)),
        height_(axis(a, x.back(2))),
        width_(axis(a, x.back(1))) {}

  int dims() const { return dims_; }
  int64_t pixels() const { return depth_.extent * height_.extent * width_.extent; }

  /// `grid`: the coordinates of the position, x first.
  SamplePoint<T> point(const T* grid) const {
    SamplePoint<T> p;
    if (dims_ == 3) p.depth = depth_.taps(grid[2]);
    p.height = height_.taps(grid[1]);
    p.width = width_.taps(grid[0]);
    return p;
  }

  /// Calls use(weight, pixel) for every tap, with pixel -1 for those outside.
  template <class Use>
  void for_taps(const SamplePoint<T>& p, const Use& use) const {
    for (int i = 0; i < p.depth.count; ++i) {
      for (int j = 0; j < p.height.count; ++j) {
        for (int k = 0; k < p.width.count; ++k) {
          const int64_t d = p.depth.index[i], h = p.height.index[j], w = p.width.index[k];
          const bool outside = d < 0 || h < 0 || w < 0;
          use(p.depth.weight[i] * p.height.weight[j] * p.width.weight[k],
              outside ? -1 : (d * height_.extent + h) * width_.extent + w);
        }
      }
    }
  }

 private:
  SampleAxis<T> axis(const fb::GridSample& a, int64_t extent) const {
    return {a.mode(), a.padding(), a.align_corners(), dims_ == 3, extent};
  }

  int dims_;
  SampleAxis<T> depth_, height_, width_;
};

}  // namespace lazyrt
