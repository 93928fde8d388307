#pragma once

#include <cstddef>
#include <type_traits>

#include "lazyrt/span.h"

namespace lazyrt {

/// Heapsort of `count` items of `bytes` each, a multiple of 4: O(count log count) whatever their
/// order, without memory, not stable. before(context, a, b): whether *a comes before *b.
void sort_items(void* items, size_t count, size_t bytes,
                bool (*before)(const void* context, const void* a, const void* b),
                const void* context);

/// The same for all types, so that a program has one sort: before(a, b).
template <class T, class Before>
void sort(Span<T> items, const Before& before) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % 4 == 0);
  sort_items(
      items.data(), items.size(), sizeof(T),
      [](const void* context, const void* a, const void* b) {
        return (*static_cast<const Before*>(context))(*static_cast<const T*>(a),
                                                      *static_cast<const T*>(b));
      },
      &before);
}

}  // namespace lazyrt
