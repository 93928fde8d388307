#include "platforms/posix/lazy_run/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "platforms/posix/lazy_run/element.h"

namespace lazyrt::run {
namespace {

double distance(double a, double b) {
  if (std::isnan(a) && std::isnan(b)) return 0;
  if (a == b) return 0;
  const double d = std::abs(a - b);
  return std::isfinite(d) ? d : std::numeric_limits<double>::infinity();
}

/// 64-bit integers do not fit a double: they are compared as they are.
double distance_at(const TensorView& a, const TensorView& b, int64_t i) {
  if (a.dtype == DType::kInt64 && a.as<int64_t>()[i] != b.as<int64_t>()[i]) {
    return std::max(1.0, distance(element(a, i), element(b, i)));
  }
  return distance(element(a, i), element(b, i));
}

}  // namespace

Tolerance default_tolerance(DType dtype) {
  if (dtype == DType::kFloat16) return {1e-6, 4 * 0x1p-10};
  if (dtype == DType::kBFloat16) return {1e-6, 4 * 0x1p-7};
  return {1e-6, 1e-4};
}

Difference compare(const TensorView& output, const TensorView& expected,
                   const Tolerance& tolerance) {
  Difference d;
  d.same_type = output.dtype == expected.dtype && output.shape == expected.shape;
  if (!d.same_type) {
    d.max_abs_error = std::numeric_limits<double>::infinity();
    return d;
  }
  for (int64_t i = 0; i < expected.numel(); ++i) {
    const double size = std::abs(element(expected, i));
    if (std::isfinite(size) && size > d.largest) d.largest = size;
    const double error = distance_at(output, expected, i);
    if (error > d.max_abs_error) {
      d.max_abs_error = error;
      d.at = i;
    }
  }
  if (is_floating(expected.dtype)) d.allowed = tolerance.absolute + tolerance.relative * d.largest;
  return d;
}

}  // namespace lazyrt::run
