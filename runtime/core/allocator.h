#pragma once

#include <cstddef>

#include "runtime/platform/threads.h"

namespace lazyrt {

/// Where memory comes from while something is loaded or a session is made. Not used during run.
struct Allocator {
  void* context = nullptr;
  /// `alignment` is a power of two; nullptr when memory is short.
  void* (*allocate)(void* context, size_t bytes, size_t alignment) = nullptr;
  void (*release)(void* context, void* pointer) = nullptr;
};

/// The platform's memory.
Allocator platform_allocator();

/// Lets one thread at a time into another allocator.
class SerialAllocator {
 public:
  /// REQUIRES: `source` outlives this, and is set when memory is asked for.
  explicit SerialAllocator(const Allocator* source) : source_(source) {}
  SerialAllocator(const SerialAllocator&) = delete;
  SerialAllocator& operator=(const SerialAllocator&) = delete;

  /// Valid as long as this.
  Allocator allocator();

 private:
  const Allocator* const source_;
  Mutex mutex_;
};

}  // namespace lazyrt
