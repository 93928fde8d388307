#include "runtime/core/counted_memory.h"

#include <cinttypes>
#include <cstring>

namespace lazyrt {
namespace {

/// Stands directly before what is given out.
struct Header {
  size_t bytes;   ///< of the whole piece
  size_t offset;  ///< from the beginning of the piece to what is handed out
};

}  // namespace

Allocator CountedMemory::allocator() {
  return {this,
          [](void* self, size_t bytes, size_t alignment) {
            return static_cast<CountedMemory*>(self)->allocate(bytes, alignment);
          },
          [](void* self, void* pointer) { static_cast<CountedMemory*>(self)->release(pointer); }};
}

bool CountedMemory::admit(uint64_t bytes) {
  if (bytes <= share_left_ && fits(bytes)) return true;
  refusal_ = bytes > share_left_ ? Refusal::kShare : Refusal::kLimit;
  refused_bytes_ = bytes;
  return false;
}

bool CountedMemory::take(uint64_t bytes) {
  if (fits(bytes)) {
    set_used(used_ + bytes);
    return true;
  }
  refusal_ = Refusal::kLimit;
  refused_bytes_ = bytes;
  return false;
}

void* CountedMemory::allocate(size_t bytes, size_t alignment) {
  const Header header = {0, alignment < sizeof(Header) ? sizeof(Header) : alignment};
  size_t total = 0;
  if (__builtin_add_overflow(bytes, header.offset, &total)) return nullptr;
  char* piece = allocate_piece(total, header.offset);
  if (piece == nullptr) return nullptr;
  heap_used_ += ReservedHeap::taken_by(total);
  peak_ = heap_used_ > peak_ ? heap_used_ : peak_;
  if (share_left_ != UINT64_MAX) share_left_ -= total;
  const Header filled = {total, header.offset};
  std::memcpy(piece + header.offset - sizeof(Header), &filled, sizeof(Header));
  return piece + header.offset;
}

/// Takes a piece from the reserve, else from the source.
char* CountedMemory::allocate_piece(size_t total, size_t alignment) {
  if (reserved_ != nullptr && total <= share_left_ && alignment <= ReservedHeap::kUnit) {
    void* piece = heap_.allocate(total);
    if (piece != nullptr) return static_cast<char*>(piece);
  }
  if (!admit(total)) return nullptr;
  auto* piece = static_cast<char*>(source_.allocate(source_.context, total, alignment));
  if (piece == nullptr) return nullptr;
  set_used(used_ + total);
  if (reserved_ != nullptr) add_to(&beyond_reserve_, 1);
  return piece;
}

Fault CountedMemory::reserve(uint64_t bytes) {
  if (bytes > SIZE_MAX / 2 || !take(bytes))
    return Fault(Error::kOutOfMemory, "no memory for a reserve of %" PRIu64 " bytes", bytes);
  reserved_ = source_.allocate(source_.context, static_cast<size_t>(bytes), ReservedHeap::kUnit);
  if (reserved_ == nullptr) {
    give(bytes);
    return Fault(Error::kOutOfMemory, "no memory for a reserve of %" PRIu64 " bytes", bytes);
  }
  heap_.use(reserved_, static_cast<size_t>(bytes));
  return {};
}

CountedMemory::~CountedMemory() {
  if (reserved_ != nullptr) source_.release(source_.context, reserved_);
}

void CountedMemory::release(void* pointer) {
  if (pointer == nullptr) return;
  auto* given = static_cast<char*>(pointer);
  Header header;
  std::memcpy(&header, given - sizeof(Header), sizeof(Header));
  heap_used_ -= ReservedHeap::taken_by(header.bytes);
  if (share_left_ != UINT64_MAX) share_left_ += header.bytes;
  char* piece = given - header.offset;
  if (reserved_ != nullptr && heap_.holds(piece)) return heap_.release(piece);
  set_used(used_ - header.bytes);
  source_.release(source_.context, given - header.offset);
}

Fault CountedMemory::explained(const Fault& status, const char* option) const {
  if (status.error() != Error::kOutOfMemory || refusal_ != Refusal::kLimit) return status;
  return status.with_context("%" PRIu64 " bytes more than the %" PRIu64
                             " in use exceed %s of %" PRIu64,
                             refused_bytes_, used_, option, limit_);
}

}  // namespace lazyrt
