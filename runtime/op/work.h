#pragma once

// How much an operator has to do: a count that saturates, and what work rules are made of.

#include <cstdint>

#include "lazyrt/shape.h"

namespace lazyrt {

/// A number of steps, each about one multiply-add or one element moved. Sums and products saturate.
class Work {
 public:
  constexpr Work() = default;
  constexpr Work(int64_t n) : n_(n < 0 ? 0 : static_cast<uint64_t>(n)) {}

  constexpr uint64_t steps() const { return n_; }

  friend constexpr Work operator+(Work a, Work b) {
    Work sum;
    if (__builtin_add_overflow(a.n_, b.n_, &sum.n_)) sum.n_ = UINT64_MAX;
    return sum;
  }
  friend Work operator*(Work a, Work b) {
    Work product;
    if (product_overflows(a.n_, b.n_, &product.n_)) product.n_ = UINT64_MAX;
    return product;
  }

 private:
  uint64_t n_ = 0;
};

/// What a call of the math library takes at most, in steps.
constexpr Work kMathCall = 32;

/// An extent as a number of loop trips. An extent of 0 counts as one, since a loop around it still
/// runs.
constexpr Work trips(int64_t extent) { return Work(extent < 1 ? 1 : extent); }

/// The product of the extents, each zero counted as one.
inline Work volume(const Shape& shape) {
  Work product(1);
  for (const int64_t extent : shape) product = product * trips(extent);
  return product;
}

}  // namespace lazyrt
