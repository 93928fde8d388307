#pragma once

#include <cstddef>
#include <type_traits>

#include "lazyrt/span.h"
#include "runtime/core/allocator.h"

namespace lazyrt {

/// Arrays of trivial elements whose memory is released all at once. Reports that memory is short
/// instead of throwing.
class Pool {
 public:
  explicit Pool(const Allocator& allocator) : allocator_(allocator) {}
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() { forget_since(nullptr); }

  /// Makes `count` elements, each T(): zeros for types that are trivial to construct. Empty when
  /// memory is short; is_short() is true from then on.
  template <class T>
  Span<T> make(size_t count) {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
    static_assert(alignof(T) <= alignof(std::max_align_t));
    Elements made;
    if constexpr (std::is_trivially_default_constructible_v<T>) {
      made = make(count, sizeof(T), nullptr);
    } else {
      const T first = T();
      made = make(count, sizeof(T), &first);
    }
    return {static_cast<T*>(made.data), made.count};
  }
  bool is_short() const { return is_short_; }
  /// Of all elements that are there.
  size_t bytes() const { return bytes_; }
  const Allocator& allocator() const { return allocator_; }

  /// What was made last, or nullptr.
  const void* last() const { return last_; }
  /// Releases what was made since last() returned `last`.
  void forget_since(const void* last);

 private:
  struct Header;
  struct Elements {
    void* data;
    size_t count;
  };
  Elements make(size_t count, size_t bytes, const void* first);

  const Allocator allocator_;
  Header* last_ = nullptr;
  size_t bytes_ = 0;
  bool is_short_ = false;
};

}  // namespace lazyrt
