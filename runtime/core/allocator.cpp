#include "runtime/core/allocator.h"

#include "runtime/platform/platform.h"

namespace lazyrt {

Allocator platform_allocator() {
  return {nullptr,
          [](void*, size_t bytes, size_t alignment) { return platform_allocate(bytes, alignment); },
          [](void*, void* pointer) { platform_release(pointer); }};
}

}  // namespace lazyrt
