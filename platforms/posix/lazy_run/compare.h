#pragma once

#include "lazyrt/runtime.h"

namespace lazyrt::run {

/// What outputs of this type may differ by if nothing else is said: 1e-6 and, relative to the
/// largest expected value, 1e-4 or four steps of the type, whichever is more.
Tolerance default_tolerance(DType dtype);

/// How far an output is from what was expected.
struct Difference {
  double max_abs_error = 0;  ///< infinite where only one of the two is NaN or infinite
  double largest = 0;        ///< largest finite |expected|
  double allowed = 0;
  int64_t at = -1;        ///< element of max_abs_error, -1: all equal, or another type
  bool same_type = true;  ///< false: of another dtype or shape, no element was compared

  bool ok() const { return same_type && (at < 0 || max_abs_error <= allowed); }
};

/// Floating outputs within tolerance.absolute + tolerance.relative * largest; others exactly. An
/// output of another dtype or shape than what is expected is infinitely far from it.
Difference compare(const TensorView& output, const TensorView& expected,
                   const Tolerance& tolerance);

}  // namespace lazyrt::run
