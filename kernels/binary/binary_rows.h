#pragma once

// Functions of two operands over rows of float32, in vectors.

#include <cstddef>

#include "kernels/binary/binary_function.h"

namespace lazyrt {

/// y[i] = f(a[i], b[i]); in the scalar forms a or b is one element. Rows may have any length and
/// alignment; y may be a or b.
using BinaryRow = void (*)(const float* a, const float* b, float* y, size_t n);

/// The vector forms of one function. If all are nullptr, it has no vector form on any processor.
struct BinaryRows {
  BinaryRow vector_vector = nullptr;
  BinaryRow vector_scalar = nullptr;
  BinaryRow scalar_vector = nullptr;
};

/// By the function's number.
struct BinaryRowTable {
  BinaryRows at[kBinaryFunctions];
};

namespace vector_baseline {
extern const BinaryRowTable kBinaryRows;
}
namespace vector_avx2 {
extern const BinaryRowTable kBinaryRows;
}
namespace vector_avx512 {
extern const BinaryRowTable kBinaryRows;
}

}  // namespace lazyrt
