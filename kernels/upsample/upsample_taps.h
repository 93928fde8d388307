#pragma once

// Which input positions make up an output position of a resized image, by torch's rules.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "schema/ops_generated.h"

namespace lazyrt {

/// How one dim is resized.
template <class T>
struct ResizedAxis {
  fb::UpsampleMode mode;
  bool align_corners;
  int64_t extent;
  T step;      ///< input positions per output position
  bool keeps;  ///< each output position is an input position
};

template <class T>
ResizedAxis<T> resized_axis(const fb::Upsample2d& a, int64_t extent, int64_t outputs,
                            double scale) {
  const bool interpolates =
      a.mode() == fb::UpsampleMode::Bilinear || a.mode() == fb::UpsampleMode::Bicubic;
  ResizedAxis<T> axis = {a.mode(), a.align_corners() && interpolates, extent, 0, false};
  if (axis.align_corners) {
    if (outputs > 1) axis.step = static_cast<T>(extent - 1) / static_cast<T>(outputs - 1);
  } else {
    axis.step =
        scale > 0 ? static_cast<T>(1.0 / scale) : static_cast<T>(extent) / static_cast<T>(outputs);
  }
  axis.keeps = outputs == extent && axis.step == 1;
  return axis;
}

/// The input positions that make up one output position, with their weights.
template <class T>
struct ResizeTaps {
  int count = 1;
  int64_t index[4] = {};
  T weight[4] = {1, 0, 0, 0};
};

/// Keys' cubic kernel with a = -0.75 at distance d.
template <class T>
T resize_cubic(T d) {
  constexpr T kA = T(-0.75);
  if (d <= 1) return ((kA + 2) * d - (kA + 3)) * d * d + 1;
  return ((kA * d - 5 * kA) * d + 8 * kA) * d - 4 * kA;
}

/// An index of whatever float, cut into the input before the conversion; NaN is 0.
template <class T>
int64_t clamped_index(T index, int64_t extent) {
  const T last = static_cast<T>(extent - 1);
  return !(index > 0) ? 0 : index >= last ? extent - 1 : static_cast<int64_t>(index);
}

template <class T>
ResizeTaps<T> resize_taps(const ResizedAxis<T>& axis, int64_t o) {
  ResizeTaps<T> taps;
  const bool cubic = axis.mode == fb::UpsampleMode::Bicubic;
  if (axis.keeps && !cubic) {  // exactly, however large o is
    taps.count = axis.mode == fb::UpsampleMode::Bilinear ? 2 : 1;
    taps.index[0] = taps.index[1] = o;
    return taps;
  }
  const T at = static_cast<T>(o);
  if (axis.mode == fb::UpsampleMode::Nearest || axis.mode == fb::UpsampleMode::NearestExact) {
    const T centre = axis.mode == fb::UpsampleMode::Nearest ? T(0) : T(0.5);
    taps.index[0] = clamped_index(std::floor((at + centre) * axis.step), axis.extent);
    return taps;
  }
  T source = axis.align_corners ? at * axis.step : (at + T(0.5)) * axis.step - T(0.5);
  if (!cubic) {
    source = std::max(source, T(0));
    const int64_t first = clamped_index(source, axis.extent);
    const T fraction = std::min(std::max(source - static_cast<T>(first), T(0)), T(1));
    taps.count = 2;
    taps.index[0] = first;
    taps.index[1] = std::min(first + 1, axis.extent - 1);
    taps.weight[0] = 1 - fraction;
    taps.weight[1] = fraction;
    return taps;
  }
  const T floor = std::floor(source);
  const T fraction = source - floor;
  taps.count = 4;
  for (int k = 0; k < 4; ++k) {
    taps.index[k] = clamped_index(floor + static_cast<T>(k - 1), axis.extent);
    taps.weight[k] = resize_cubic(std::fabs(fraction - static_cast<T>(k - 1)));
  }
  return taps;
}

}  // namespace lazyrt
