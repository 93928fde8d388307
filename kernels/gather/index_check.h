#pragma once

// Index operands: reading i32 or i64, and the check at run that no index leads outside.

#include "lazyrt/tensor_view.h"
#include "runtime/core/fault.h"

namespace lazyrt {

/// REQUIRES: the dtype is i32 or i64.
inline int64_t index_at(const TensorView& index, int64_t i) {
  return index.dtype == DType::kInt32 ? index.as<const int32_t>()[i] : index.as<const int64_t>()[i];
}

inline Fault bad_index(Word op, int64_t value, int64_t position, int64_t low, int64_t high) {
  return Fault(Error::kOutOfRange, "%s: index %lld at position %lld is not in [%lld, %lld)", op,
               static_cast<long long>(value), static_cast<long long>(position),
               static_cast<long long>(low), static_cast<long long>(high));
}

/// Checks that all indices are in [low, high). kOutOfRange names the first that is not.
inline Fault check_indices(Word op, const TensorView& index, int64_t low, int64_t high) {
  for (int64_t i = 0, n = index.numel(); i < n; ++i) {
    const int64_t value = index_at(index, i);
    if (value < low || value >= high) return bad_index(op, value, i, low, high);
  }
  return Fault();
}

}  // namespace lazyrt
