#include "runtime/core/counted_memory.h"

#include <cinttypes>
#include <cstring>

namespace lazyrt {
namespace {

/// Stands directly before what is given out.
struct Header {
  size_t bytes;   ///< of the whole piece
  size_t offset;  ///< from the piece to what is given out
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
  if (!admit(total)) return nullptr;
  auto* piece = static_cast<char*>(source_.allocate(source_.context, total, header.offset));
  if (piece == nullptr) return nullptr;
  set_used(used_ + total);
  if (share_left_ != UINT64_MAX) share_left_ -= total;
  const Header filled = {total, header.offset};
  std::memcpy(piece + header.offset - sizeof(Header), &filled, sizeof(Header));
  return piece + header.offset;
}

void CountedMemory::release(void* pointer) {
  if (pointer == nullptr) return;
  auto* given = static_cast<char*>(pointer);
  Header header;
  std::memcpy(&header, given - sizeof(Header), sizeof(Header));
  set_used(used_ - header.bytes);
  if (share_left_ != UINT64_MAX) share_left_ += header.bytes;
  source_.release(source_.context, given - header.offset);
}

Status CountedMemory::explained(const Status& status, const char* option) const {
  if (status.error() != Error::kOutOfMemory || refusal_ != Refusal::kLimit) return status;
  return Status(status.error(),
                "%" PRIu64 " bytes more than the %" PRIu64 " in use exceed %s of %" PRIu64 ": %s",
                refused_bytes_, used_, option, limit_, status.message());
}

}  // namespace lazyrt
