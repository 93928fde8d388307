#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace lazyrt {

/// A borrowed run of elements.
template <class T>
class Span {
 public:
  constexpr Span() = default;
  constexpr Span(T* data, size_t size) : data_(data), size_(size) {}
  template <size_t N>
  constexpr Span(T (&array)[N]) : data_(array), size_(N) {}
  /// From anything with data() and size(), e.g. std::vector.
  template <class C, class = std::enable_if_t<
                         std::is_convertible_v<decltype(std::declval<C&>().data()), T*>>>
  constexpr Span(C&& container) : data_(container.data()), size_(container.size()) {}

  constexpr T* data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T& operator[](size_t i) const { return data_[i]; }
  constexpr T* begin() const { return data_; }
  constexpr T* end() const { return data_ + size_; }
  /// REQUIRES: offset + count <= size().
  constexpr Span subspan(size_t offset, size_t count) const { return {data_ + offset, count}; }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace lazyrt
