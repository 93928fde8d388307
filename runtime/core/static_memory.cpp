#include "lazyrt/static_memory.h"

namespace lazyrt {

/// Directly before each piece.
struct StaticMemory::Header {
  Header* below;                         ///< of the next lower piece
  size_t used : sizeof(size_t) * 8 - 1;  ///< of the buffer before this piece
  size_t is_free : 1;
};

AllocatorHooks StaticMemory::hooks() {
  return {this,
          [](void* self, size_t bytes, size_t alignment) {
            return static_cast<StaticMemory*>(self)->allocate(bytes, alignment);
          },
          [](void* self, void* pointer) { static_cast<StaticMemory*>(self)->release(pointer); }};
}

void* StaticMemory::allocate(size_t bytes, size_t alignment) {
  if (alignment < alignof(Header)) alignment = alignof(Header);
  const auto base = reinterpret_cast<uintptr_t>(begin_);
  const size_t padded = used_ + sizeof(Header) + alignment - 1;
  if (padded > bytes_ + alignment - 1) return nullptr;
  const uintptr_t piece = (base + padded) & ~(uintptr_t{alignment} - 1);
  const size_t offset = piece - base;
  if (offset > bytes_ || bytes > bytes_ - offset) return nullptr;
  auto* header = reinterpret_cast<Header*>(piece) - 1;
  *header = {last_, used_, 0};
  last_ = header;
  used_ = offset + bytes;
  if (used_ > peak_) peak_ = used_;
  return header + 1;
}

void StaticMemory::release(void* pointer) {
  if (pointer == nullptr) return;
  (static_cast<Header*>(pointer) - 1)->is_free = 1;
  while (last_ != nullptr && last_->is_free != 0) {
    used_ = last_->used;
    last_ = last_->below;
  }
}

}  // namespace lazyrt
