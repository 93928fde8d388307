#include "runtime/backends/cpu/xnn_memory.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace lazyrt {
namespace {

thread_local const Allocator* current = nullptr;

/// Stands directly before what XNNPACK gets.
struct Header {
  Allocator allocator;  ///< that it came from
  size_t bytes;         ///< that XNNPACK asked for
  size_t offset;        ///< from what the allocator gave
};
constexpr size_t kRoom = 64;
static_assert(sizeof(Header) <= kRoom && kRoom % alignof(Header) == 0);

Header* header_of(void* pointer) {
  return reinterpret_cast<Header*>(static_cast<char*>(pointer) - sizeof(Header));
}

void* aligned_allocate(void*, size_t alignment, size_t bytes) {
  const Allocator allocator = current == nullptr ? platform_allocator() : *current;
  const size_t offset = std::max(alignment, kRoom);
  size_t total = 0;
  if (__builtin_add_overflow(bytes, offset, &total)) return nullptr;
  auto* memory = static_cast<char*>(allocator.allocate(allocator.context, total, offset));
  if (memory == nullptr) return nullptr;
  if (reinterpret_cast<uintptr_t>(memory) % offset != 0) {
    allocator.release(allocator.context, memory);  // the hook ignored the alignment
    return nullptr;
  }
  *header_of(memory + offset) = {allocator, bytes, offset};
  return memory + offset;
}

void* allocate(void* context, size_t bytes) { return aligned_allocate(context, kRoom, bytes); }

void deallocate(void*, void* pointer) {
  if (pointer == nullptr) return;
  const Header header = *header_of(pointer);
  header.allocator.release(header.allocator.context, static_cast<char*>(pointer) - header.offset);
}

void* reallocate(void* context, void* pointer, size_t bytes) {
  void* larger = allocate(context, bytes);
  if (larger == nullptr || pointer == nullptr) return larger;
  std::memcpy(larger, pointer, std::min(bytes, header_of(pointer)->bytes));
  deallocate(context, pointer);
  return larger;
}

constexpr xnn_allocator kHooks = {nullptr,    allocate,         reallocate,
                                  deallocate, aligned_allocate, deallocate};

}  // namespace

XnnMemory::XnnMemory(const Allocator& allocator) : allocator_(allocator), outer_(current) {
  current = &allocator_;
}
XnnMemory::~XnnMemory() { current = outer_; }

const xnn_allocator* xnn_memory_hooks() { return &kHooks; }

}  // namespace lazyrt
