#include "runtime/core/array.h"

namespace lazyrt {
namespace {

constexpr size_t kAlign = alignof(std::max_align_t);
constexpr size_t kHeaderBytes = (sizeof(Allocator) + kAlign - 1) / kAlign * kAlign;

}  // namespace

void* make_elements(size_t count, size_t bytes, const Allocator& allocator, const void* first) {
  if (count > (PTRDIFF_MAX - kHeaderBytes) / bytes) return nullptr;
  auto* memory = static_cast<char*>(
      allocator.allocate(allocator.context, kHeaderBytes + count * bytes, kAlign));
  if (memory == nullptr) return nullptr;
  std::memcpy(memory, &allocator, sizeof(allocator));
  memory += kHeaderBytes;
  if (first == nullptr) return std::memset(memory, 0, count * bytes);
  for (size_t i = 0; i < count; ++i) std::memcpy(memory + i * bytes, first, bytes);
  return memory;
}

void release_elements(void* elements) {
  if (elements == nullptr) return;
  char* memory = static_cast<char*>(elements) - kHeaderBytes;
  Allocator allocator;
  std::memcpy(&allocator, memory, sizeof(allocator));
  allocator.release(allocator.context, memory);
}

}  // namespace lazyrt
