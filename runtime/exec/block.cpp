#include "runtime/exec/block.h"

#include <cinttypes>

namespace lazyrt {

Fault Block::make(uint64_t bytes, size_t alignment, const Allocator& allocator, Word what) {
  if (bytes > SIZE_MAX / 2) {
    return Fault(Error::kOutOfMemory, "%s: %" PRIu64 " bytes are more than this machine addresses",
                 what, bytes);
  }
  void* data = allocator.allocate(allocator.context, static_cast<size_t>(bytes), alignment);
  if (data == nullptr)
    return Fault(Error::kOutOfMemory, "no memory for %s of %" PRIu64 " bytes", what, bytes);
  if (reinterpret_cast<uintptr_t>(data) % alignment != 0) {
    allocator.release(allocator.context, data);
    return Fault(Error::kInvalidArgument, "the allocator hook ignored the alignment of %zu for %s",
                 alignment, what);
  }
  allocator_ = allocator;
  data_ = static_cast<uint8_t*>(data);
  bytes_ = bytes;
  return {};
}

Block::~Block() {
  if (data_ != nullptr) allocator_.release(allocator_.context, data_);
}

}  // namespace lazyrt
