#pragma once

// Special functions of one number, computed in double.

#include <cmath>

#ifdef __APPLE__
extern "C" double lgamma_r(double x, int* sign);  // in libSystem, not in <math.h>
#endif

namespace lazyrt {

constexpr double kPi = 3.14159265358979323846, kHalfRootOfPi = 0.88622692545275801365;

/// erf(y) - x or, if that would cancel, the same from the other end.
inline double erf_error(double y, double x) {
  if (x > 0.5) return (1 - x) - std::erfc(y);
  if (x < -0.5) return std::erfc(-y) - (1 + x);
  return std::erf(y) - x;
}

/// The inverse of erf: a start that is right to 2 parts in 1000 (Winitzki), then Halley's steps,
/// each of which triples the digits.
inline double erf_inverse(double x) {
  if (!(std::fabs(x) < 1)) return x == 1 ? HUGE_VAL : x == -1 ? -HUGE_VAL : std::nan("");
  if (std::fabs(x) < 1e-20) return x * kHalfRootOfPi;
  constexpr double kA = 0.147;
  const double log = std::log1p(-x * x);
  const double t = 2 / (kPi * kA) + log / 2;
  double y = std::copysign(std::sqrt(-log / kA / (std::sqrt(t * t - log / kA) + t)), x);
  for (int step = 0; step < 3; ++step) {
    const double u = erf_error(y, x) * kHalfRootOfPi * std::exp(y * y);
    y -= u / (1 + y * u);
  }
  return y;
}

/// log |gamma(x)|; but on Windows std::lgamma would write a global that threads share.
inline double log_gamma(double x) {
#ifdef _WIN32
  return std::lgamma(x);
#else
  int sign = 0;
  return ::lgamma_r(x, &sign);
#endif
}

/// The derivative of log_gamma: reflected to x > 0, raised to x >= 10, then Stirling's series.
inline double digamma_of(double x) {
  if (x == 0) return std::copysign(HUGE_VAL, -x);
  double y = 0;
  if (x < 0) {
    double whole;
    const double fraction = std::modf(x, &whole);
    if (fraction == 0) return std::nan("");
    y = -kPi / std::tan(kPi * fraction);
    x = 1 - x;
  }
  for (; x < 10; ++x) y -= 1 / x;
  if (std::isinf(x)) return x;
  // Bernoulli's numbers B(2k) / 2k.
  constexpr double kSeries[] = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                                1.0 / 132, -691.0 / 32760, 1.0 / 12,  -3617.0 / 8160};
  const double z = 1 / (x * x);
  double power = z, tail = 0;
  for (const double c : kSeries) tail += c * power, power *= z;
  return y + (std::log(x) - 0.5 / x - tail);
}

/// The modified Bessel function of order 0: its power series, whose terms are all positive, and
/// from 30 on the asymptotic one, whose terms shrink until far below the last place. exp(x)
/// overflows before the product would, as torch's.
template <class T>
T bessel_i0(T of) {
  const double x = std::fabs(static_cast<double>(of));
  double term = 1, sum = 1;
  if (x < 30) {
    for (int k = 1; term > 1e-17 * sum; ++k) term *= x * x / (4.0 * k * k), sum += term;
    return static_cast<T>(sum);
  }
  for (int k = 1; k < 30 && term > 1e-17 * sum; ++k) {
    term *= (2.0 * k - 1) * (2.0 * k - 1) / (8.0 * k * x), sum += term;
  }
  return std::exp(std::fabs(of)) * static_cast<T>(sum / (std::sqrt(2 * kPi) * std::sqrt(x)));
}

/// In T throughout: which multiple of pi is meant depends on the rounding.
template <class T>
T sinc_of(T x) {
  if (x == 0) return 1;
  const T product = T(kPi) * x;
  return std::sin(product) / product;
}

}  // namespace lazyrt
