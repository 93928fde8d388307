#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/core/array.h"

namespace lazyrt {

/// For each moment the highest end of the ranges put there. A segment tree over [0, moments).
/// Bytes: size_t, or uint64_t where they are not known to be addressable.
template <class Bytes>
class Skyline {
 public:
  [[nodiscard]] bool make(size_t moments, const Allocator& memory) {
    while (leaves_ < moments) leaves_ *= 2;
    return highest_.make(2 * leaves_, memory) && everywhere_.make(2 * leaves_, memory);
  }
  void clear() {
    for (Bytes& end : highest_) end = 0;
    for (Bytes& end : everywhere_) end = 0;
  }
  Bytes highest(size_t from, size_t to) const { return highest(1, 0, leaves_ - 1, from, to); }
  void raise(size_t from, size_t to, Bytes end) { raise(1, 0, leaves_ - 1, from, to, end); }

 private:
  // Depth is log2 of the number of nodes.
  Bytes highest(size_t n, size_t low, size_t high, size_t from, size_t to) const {
    if (to < low || high < from) return 0;
    if (from <= low && high <= to) return highest_[n];
    const size_t middle = (low + high) / 2;
    const Bytes below = std::max(highest(2 * n, low, middle, from, to),
                                 highest(2 * n + 1, middle + 1, high, from, to));
    return std::max(everywhere_[n], below);
  }
  void raise(size_t n, size_t low, size_t high, size_t from, size_t to, Bytes end) {
    if (to < low || high < from) return;
    highest_[n] = std::max(highest_[n], end);
    if (from <= low && high <= to) {
      everywhere_[n] = std::max(everywhere_[n], end);
      return;
    }
    const size_t middle = (low + high) / 2;
    raise(2 * n, low, middle, from, to, end);
    raise(2 * n + 1, middle + 1, high, from, to, end);
  }

  size_t leaves_ = 1;
  Array<Bytes> highest_;     ///< of the subtree
  Array<Bytes> everywhere_;  ///< put over the whole of the subtree
};

}  // namespace lazyrt
