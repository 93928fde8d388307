#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

#include "runtime/core/allocator.h"
#include "runtime/core/fault.h"

namespace lazyrt {

/// A growing run of trivial elements.
template <class T>
class List {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  explicit List(const Allocator& allocator) : allocator_(allocator) {}
  List(const List&) = delete;
  List& operator=(const List&) = delete;
  ~List() {
    if (data_ != nullptr) allocator_.release(allocator_.context, data_);
  }

  /// kOutOfMemory leaves the list as it is.
  Fault insert(size_t at, const T& element) {
    const T copy = element;
    if (size_ == room_) LAZYRT_RETURN_IF_ERROR(grow());
    std::memmove(static_cast<void*>(data_ + at + 1), data_ + at, (size_ - at) * sizeof(T));
    data_[at] = copy;
    ++size_;
    return {};
  }
  Fault append(const T& element) { return insert(size_, element); }
  /// REQUIRES: both have one allocator.
  void swap(List& other) {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(room_, other.room_);
  }
  /// The order stays.
  void remove(size_t at) {
    --size_;
    std::memmove(static_cast<void*>(data_ + at), data_ + at + 1, (size_ - at) * sizeof(T));
  }
  void clear() { size_ = 0; }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

 private:
  Fault grow() {
    const size_t room = room_ == 0 ? 16 : 2 * room_;
    void* memory =
        allocator_.allocate(allocator_.context, room * sizeof(T), alignof(std::max_align_t));
    if (memory == nullptr)
      return Fault(Error::kOutOfMemory, "no memory for a list of the vulkan backend");
    if (data_ != nullptr) {
      std::memcpy(memory, static_cast<const void*>(data_), size_ * sizeof(T));
      allocator_.release(allocator_.context, data_);
    }
    data_ = static_cast<T*>(memory);
    room_ = room;
    return {};
  }

  const Allocator allocator_;
  T* data_ = nullptr;
  size_t size_ = 0, room_ = 0;
};

}  // namespace lazyrt
