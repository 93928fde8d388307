#pragma once

#include <cstddef>

namespace lazyrt {

/// Where memory comes from while something is loaded or a session is made. Not used during a run.
struct Allocator {
  void* context = nullptr;
  /// `alignment` is a power of two; nullptr when memory is short.
  void* (*allocate)(void* context, size_t bytes, size_t alignment) = nullptr;
  void (*release)(void* context, void* pointer) = nullptr;
};

/// The platform's memory.
Allocator platform_allocator();

}  // namespace lazyrt
