#pragma once

// Functions of one operand over rows of float32, in vectors.

#include <cstddef>

#include "kernels/unary/unary_function.h"

namespace lazyrt {

/// y[i] = f(x[i]; alpha, beta). Rows may have any length and alignment; x and y may be the same.
using UnaryRow = void (*)(const float* x, float* y, size_t n, float alpha, float beta);

/// By the function's number; nullptr: it has no vector form on any processor.
struct UnaryRows {
  UnaryRow at[kUnaryFunctions];
};

namespace vector_baseline {
extern const UnaryRows kUnaryRows;
}
namespace vector_avx2 {
extern const UnaryRows kUnaryRows;
}
namespace vector_avx512 {
extern const UnaryRows kUnaryRows;
}

}  // namespace lazyrt
