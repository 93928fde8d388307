#pragma once

#include <cstdint>

#include "runtime/core/allocator.h"
#include "runtime/core/fault.h"

namespace lazyrt {

/// A piece of memory, released when this is destroyed.
class Block {
 public:
  Block() = default;
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block();

  /// kOutOfMemory names `what`. REQUIRES: empty.
  Fault make(uint64_t bytes, size_t alignment, const Allocator& allocator, Word what);

  uint8_t* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }

 private:
  uint8_t* data_ = nullptr;
  uint64_t bytes_ = 0;
  Allocator allocator_;
};

}  // namespace lazyrt
