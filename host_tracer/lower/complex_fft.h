#pragma once

// Fourier transforms of fixed sizes as products with constant matrices.

#include "host_tracer/record/complex_value.h"

namespace lazyrt {

/// What ATen's _fft operators share. Normalization: 0 none, 1 by the root of the number of
/// elements, 2 by that number.
struct Fft {
  std::vector<int64_t> dims;  ///< the last one is halved, where one is
  int64_t normalization = 0;
};

ComplexParts fft_c2c(const ComplexParts& x, const Fft& fft, bool forward);
/// `onesided`: the last dim keeps its first n / 2 + 1 frequencies.
ComplexParts fft_r2c(const at::Tensor& x, const Fft& fft, bool onesided);
/// The last dim becomes `size` long.
at::Tensor fft_c2r(const ComplexParts& x, const Fft& fft, int64_t size);

}  // namespace lazyrt
