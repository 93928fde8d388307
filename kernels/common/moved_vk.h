#pragma once

// Elements that shaders move as they are: what moved.glsl needs.

#include "runtime/backends/vulkan/recorder.h"

namespace lazyrt {

/// kSize of moved.glsl. REQUIRES: the type has whole bytes.
constexpr uint32_t moved_size(DType type) {
  const size_t bytes = dtype_size(type);
  return bytes == 8 ? 3 : bytes == 4 ? 2 : bytes == 2 ? 1 : 0;
}
/// Words that a result has, one for each invocation.
inline uint32_t words_of(const TensorView& v) {
  return static_cast<uint32_t>((uint64_t{v.bytes()} + 3) / 4);
}

}  // namespace lazyrt
