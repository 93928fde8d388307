#include "runtime/core/pool.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>

namespace lazyrt {
namespace {

/// Makes `count` copies of *first, `bytes` each, at `to`; nullptr: fills with zeros.
void fill(char* to, size_t count, size_t bytes, const void* first) {
  if (first == nullptr) {
    std::memset(to, 0, count * bytes);
    return;
  }
  std::memcpy(to, first, bytes);
  for (size_t made = 1; made < count; made *= 2)
    std::memcpy(to + made * bytes, to, std::min(made, count - made) * bytes);
}

}  // namespace

/// Stands before the elements.
struct alignas(std::max_align_t) Pool::Header {
  Header* before;
  size_t bytes;  ///< of the elements
};

Pool::Elements Pool::make(size_t count, size_t bytes, const void* first) {
  if (count == 0) return {nullptr, 0};
  void* memory = nullptr;
  if (count <= (PTRDIFF_MAX - sizeof(Header)) / bytes) {
    memory =
        allocator_.allocate(allocator_.context, sizeof(Header) + count * bytes, alignof(Header));
  }
  if (memory == nullptr) {
    is_short_ = true;
    return {nullptr, 0};
  }
  last_ = new (memory) Header{last_, count * bytes};
  bytes_ += count * bytes;
  fill(reinterpret_cast<char*>(last_ + 1), count, bytes, first);
  return {last_ + 1, count};
}

void Pool::forget_since(const void* last) {
  while (last_ != last) {
    Header* const newest = last_;
    last_ = newest->before;
    bytes_ -= newest->bytes;
    allocator_.release(allocator_.context, newest);
  }
}

}  // namespace lazyrt
