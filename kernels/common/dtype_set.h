#pragma once

// Sets of element types that an operator takes.

#include <cstdint>

#include "lazyrt/dtype.h"

namespace lazyrt {

/// A set of element types, one bit each.
using DTypeSet = uint32_t;

template <class... D>
constexpr DTypeSet dtype_set(D... types) {
  return ((DTypeSet{1} << static_cast<unsigned>(types)) | ...);
}
constexpr DTypeSet kFloatTypes = dtype_set(DType::kFloat32, DType::kFloat64);
constexpr DTypeSet kIntegerTypes =
    dtype_set(DType::kInt8, DType::kUInt8, DType::kInt16, DType::kInt32, DType::kInt64);
constexpr DTypeSet kNumberTypes = kFloatTypes | kIntegerTypes;
constexpr DTypeSet kBoolType = dtype_set(DType::kBool);
/// What elementwise kernels compute in.
constexpr DTypeSet kComputeTypes = kNumberTypes | kBoolType;
/// All types: cast and pure data movement take them.
constexpr DTypeSet kAllTypes = kComputeTypes | dtype_set(DType::kFloat16, DType::kBFloat16);
constexpr DTypeSet kIndexTypes = dtype_set(DType::kInt32, DType::kInt64);

}  // namespace lazyrt
