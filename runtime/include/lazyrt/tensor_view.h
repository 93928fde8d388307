#pragma once

#include <cstddef>
#include <cstdint>

#include "lazyrt/dtype.h"
#include "lazyrt/shape.h"

namespace lazyrt {

/// Borrowed, row-major contiguous tensor. An absent optional operand has dtype kNone.
struct TensorView {
  void* data = nullptr;
  DType dtype = DType::kNone;
  Shape shape;

  bool present() const { return dtype != DType::kNone; }
  int64_t numel() const { return shape.numel(); }
  size_t bytes() const { return dtype_bytes(dtype, numel()); }
  /// REQUIRES: T is the C++ type of dtype.
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

/// dtype and shape of a tensor, and its bytes where they are known before run (constants).
struct TensorSpec {
  DType dtype = DType::kNone;
  Shape shape;
  const void* constant = nullptr;  ///< row-major bytes of a constant, else nullptr

  bool present() const { return dtype != DType::kNone; }
  int64_t numel() const { return shape.numel(); }
  size_t bytes() const { return dtype_bytes(dtype, numel()); }
};

/// Every tensor's memory may be *read* this many bytes past its end (XNN_EXTRA_BYTES).
constexpr size_t kTailBytes = 16;
/// Alignment of arena values, constants and workspaces.
constexpr size_t kAlignment = 64;

}  // namespace lazyrt
