#pragma once

#include <cstddef>
#include <new>
#include <utility>

#include "runtime/core/allocator.h"

namespace lazyrt {

/// Makes an object in the allocator's memory; nullptr: memory is short.
template <class T, class... Args>
T* make_object(const Allocator& allocator, Args&&... args) {
  static_assert(alignof(T) <= alignof(std::max_align_t));
  void* memory = allocator.allocate(allocator.context, sizeof(T), alignof(std::max_align_t));
  return memory == nullptr ? nullptr : new (memory) T(std::forward<Args>(args)...);
}
/// nullptr is allowed.
template <class T>
void destroy_object(T* object, const Allocator& allocator) {
  if (object == nullptr) return;
  object->~T();
  allocator.release(allocator.context, object);
}

}  // namespace lazyrt
