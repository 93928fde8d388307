#pragma once

#include "lazyrt/runtime.h"

namespace lazyrt::run {

/// How far an output is from what was expected.
struct Difference {
  double max_abs_error = 0;  ///< infinite where only one of the two is NaN or infinite
  double largest = 0;        ///< largest finite |expected|
  double allowed = 0;
  int64_t at = -1;  ///< element of max_abs_error, -1: all equal

  bool ok() const { return max_abs_error <= allowed; }
};

/// Floating outputs within tolerance.absolute + tolerance.relative * largest; others exactly.
/// REQUIRES: the same dtype and shape.
Difference compare(const TensorView& output, const TensorView& expected,
                   const Tolerance& tolerance);

}  // namespace lazyrt::run
