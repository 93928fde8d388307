#include "runtime/core/array.h"

#include <algorithm>

namespace lazyrt {
namespace {

constexpr size_t kAlign = alignof(std::max_align_t);
constexpr size_t kHeaderBytes = (sizeof(Allocator) + kAlign - 1) / kAlign * kAlign;

}  // namespace

bool Elements::make(size_t count, size_t bytes, const Allocator& allocator, const void* first) {
  if (count == 0) return true;
  if (count > (PTRDIFF_MAX - kHeaderBytes) / bytes) return false;
  auto* memory = static_cast<char*>(
      allocator.allocate(allocator.context, kHeaderBytes + count * bytes, kAlign));
  if (memory == nullptr) return false;
  std::memcpy(memory, &allocator, sizeof(allocator));
  data_ = memory += kHeaderBytes;
  size_ = count;
  if (first == nullptr) {
    std::memset(memory, 0, count * bytes);
    return true;
  }
  std::memcpy(memory, first, bytes);
  for (size_t made = 1; made < count; made *= 2)
    std::memcpy(memory + made * bytes, memory, std::min(made, count - made) * bytes);
  return true;
}

void Elements::release(void* elements) {
  if (elements == nullptr) return;
  char* memory = static_cast<char*>(elements) - kHeaderBytes;
  Allocator allocator;
  std::memcpy(&allocator, memory, sizeof(allocator));
  allocator.release(allocator.context, memory);
}

}  // namespace lazyrt
