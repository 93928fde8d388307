#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "runtime/core/allocator.h"

namespace lazyrt {

/// What an Array is whatever its elements: memory, before which stands the allocator that it goes
/// back to.
class Elements {
 protected:
  Elements() = default;
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;
  ~Elements() { release(data_); }

  /// `count` copies of *first, of `bytes` each (nullptr: zeros); false when memory is short.
  [[nodiscard]] bool make(size_t count, size_t bytes, const Allocator& allocator,
                          const void* first);
  /// nullptr: nothing.
  static void release(void* elements);

  void* data_ = nullptr;
  size_t size_ = 0;
};

/// A fixed run of trivial elements on the heap. Says when memory is short instead of throwing.
template <class T>
class Array : private Elements {
 public:
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
  static_assert(alignof(T) <= alignof(std::max_align_t));

  /// Makes `count` copies of T(); false when memory is short. REQUIRES: empty.
  [[nodiscard]] bool make(size_t count, const Allocator& allocator) {
    if constexpr (std::is_scalar_v<T>) return Elements::make(count, sizeof(T), allocator, nullptr);
    const T first = T();
    return Elements::make(count, sizeof(T), allocator, &first);
  }
  void clear() {
    release(data_);
    data_ = nullptr;
    size_ = 0;
  }

  T* data() { return static_cast<T*>(data_); }
  const T* data() const { return static_cast<const T*>(data_); }
  size_t size() const { return size_; }
  size_t bytes() const { return size_ * sizeof(T); }
  T& operator[](size_t i) { return data()[i]; }
  const T& operator[](size_t i) const { return data()[i]; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
};

}  // namespace lazyrt
