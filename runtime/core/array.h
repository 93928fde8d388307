#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "runtime/core/allocator.h"

namespace lazyrt {

/// A fixed run of trivial elements on the heap. Says when memory is short instead of throwing.
template <class T>
class Array {
 public:
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

  Array() = default;
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() { clear(); }

  /// Makes `count` copies of T(); false when memory is short. REQUIRES: empty.
  [[nodiscard]] bool make(size_t count, const Allocator& allocator) {
    if (count == 0) return true;
    if (count > PTRDIFF_MAX / sizeof(T)) return false;
    allocator_ = allocator;
    data_ = static_cast<T*>(allocator.allocate(allocator.context, count * sizeof(T), alignment()));
    if (data_ == nullptr) return false;
    for (size_t i = 0; i < count; ++i) data_[i] = T();
    size_ = count;
    return true;
  }
  void clear() {
    if (data_ != nullptr) allocator_.release(allocator_.context, data_);
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
  static constexpr size_t alignment() {
    return alignof(T) < alignof(std::max_align_t) ? alignof(std::max_align_t) : alignof(T);
  }

  T* data_ = nullptr;
  size_t size_ = 0;
  Allocator allocator_;
};

}  // namespace lazyrt
