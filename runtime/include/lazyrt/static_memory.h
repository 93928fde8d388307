#pragma once

// One buffer of the caller's as all the memory that a Program and its sessions have:
//
//   #include "model.h"                     // of `lazy-export c-array model.lzb model`
//   alignas(lazyrt::kBufferAlignment) static uint8_t buffer[model::forward::kBufferBytes];
//   lazyrt::StaticMemory memory(model::forward(), buffer);
//   lazyrt::LoadOptions load;
//   load.allocator = memory.hooks();        // and SessionOptions::allocator likewise

#include <cstddef>
#include <cstdint>

#include "lazyrt/runtime.h"

namespace lazyrt {

/// The alignment that a buffer should have; otherwise the bytes that aligning it takes are lost.
constexpr size_t kBufferAlignment = 64;

/// Gives out pieces of a buffer, one above the other. A released piece is used again once all
/// pieces above it are released, too. So memory does not fragment, and how much is needed depends
/// only on what is asked for. One thread at a time.
class StaticMemory {
 public:
  /// The buffer must outlive this object, and this object everything that is made with it.
  StaticMemory(void* buffer, size_t bytes) : begin_(static_cast<uint8_t*>(buffer)), bytes_(bytes) {}
  /// The same for a Program and one Session of a method. `Sizes` is the method's struct in the
  /// header that lazy-export writes: a buffer that is too small for both does not compile.
  template <class Sizes, size_t Bytes>
  StaticMemory(Sizes, uint8_t (&buffer)[Bytes]) : StaticMemory(buffer, Bytes) {
    static_assert(Bytes >= Sizes::kBufferBytes, "the buffer is smaller than the method needs");
  }
  StaticMemory(const StaticMemory&) = delete;
  StaticMemory& operator=(const StaticMemory&) = delete;

  /// For LoadOptions and SessionOptions.
  AllocatorHooks hooks();

  /// Bytes of the buffer that are in use, and the most that were so far.
  size_t used() const { return used_; }
  size_t peak() const { return peak_; }

 private:
  struct Header;

  void* allocate(size_t bytes, size_t alignment);
  void release(void* pointer);

  uint8_t* const begin_;
  const size_t bytes_;
  size_t used_ = 0;
  size_t peak_ = 0;
  Header* last_ = nullptr;  ///< of the topmost piece
};

}  // namespace lazyrt
