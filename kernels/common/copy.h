#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/strides.h"

namespace lazyrt {

/// Copies shape's elements of `element_bytes` (1, 2, 4 or 8) from src to dst, each with its own
/// strides. dst and src point at the elements of index 0. REQUIRES: they do not overlap.
void copy_strided(size_t element_bytes, const Shape& shape, void* dst, const Strides& dst_strides,
                  const void* src, const Strides& src_strides);

/// As memcpy, but bytes may be 0 with null pointers and dst may equal src.
void copy_bytes(void* dst, const void* src, size_t bytes);

/// Address of an element by its offset.
inline void* element_at(void* base, int64_t offset, size_t element_bytes) {
  return static_cast<char*>(base) + offset * static_cast<int64_t>(element_bytes);
}
inline const void* element_at(const void* base, int64_t offset, size_t element_bytes) {
  return static_cast<const char*>(base) + offset * static_cast<int64_t>(element_bytes);
}

}  // namespace lazyrt
