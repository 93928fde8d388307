#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "runtime/core/allocator.h"

namespace lazyrt {

/// Memory of `count` > 0 elements, each a copy of *first (nullptr: zeros); nullptr when it is
/// short. Before it stands the allocator that it goes back to.
void* make_elements(size_t count, size_t bytes, const Allocator& allocator, const void* first);
/// nullptr: nothing.
void release_elements(void* elements);

/// A fixed run of trivial elements on the heap. Says when memory is short instead of throwing.
template <class T>
class Array {
 public:
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
  static_assert(alignof(T) <= alignof(std::max_align_t));

  Array() = default;
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() { release_elements(data_); }

  /// Makes `count` copies of T(); false when memory is short. REQUIRES: empty.
  [[nodiscard]] bool make(size_t count, const Allocator& allocator) {
    if (count == 0) return true;
    if constexpr (std::is_scalar_v<T>) {
      data_ = static_cast<T*>(make_elements(count, sizeof(T), allocator, nullptr));
    } else {
      const T first = T();
      data_ = static_cast<T*>(make_elements(count, sizeof(T), allocator, &first));
    }
    if (data_ != nullptr) size_ = count;
    return data_ != nullptr;
  }
  void clear() {
    release_elements(data_);
    data_ = nullptr;
    size_ = 0;
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  uint64_t bytes() const { return size_ * sizeof(T); }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace lazyrt
