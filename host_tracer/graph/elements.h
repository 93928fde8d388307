#pragma once

// Single elements of a tensor as numbers, for constants that passes read and make.

#include <cstddef>
#include <cstdint>

#include "lazyrt/dtype.h"

namespace lazyrt {

/// Element i of row-major `data`. i64 beyond 2^53 loses digits: use read_integer.
/// REQUIRES: dtype is not kNone.
double read_element(DType dtype, const void* data, int64_t i);
/// REQUIRES: dtype is integral or bool.
int64_t read_integer(DType dtype, const void* data, int64_t i);
/// Stores `value` converted: floats round to nearest even, integers truncate and saturate, bool is
/// value != 0. REQUIRES: dtype is not kNone.
void write_element(DType dtype, void* data, int64_t i, double value);

}  // namespace lazyrt
