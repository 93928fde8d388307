#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace lazyrt {

/// Other values for an input of a program, of its dtype and shape and plausible where it is.
/// Floating ones: at level 0 reordered, and at each level moved by noise of 10^-(level + 1) of
/// their spread; NaN and infinity stay NaN and infinity. Integers and truth values are reordered,
/// at level n only a share of 10^-n of them, so that indices stay in their range.
at::Tensor perturbed(const at::Tensor& cpu, int level, uint64_t seed);

/// Values made from numbers far from the sample's.
struct Enlargement {
  double scale;    ///< floating x become scale * x + shift
  double shift;    ///< see scale
  int64_t factor;  ///< the integer x at place i becomes factor * x + step * i
  int64_t step;    ///< see factor
};

/// Truth values stay.
at::Tensor enlarged(const at::Tensor& tensor, const Enlargement& by);

}  // namespace lazyrt
