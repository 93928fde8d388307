#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/core/pool.h"

namespace lazyrt {

/// For each moment, the highest end of the ranges put there. A segment tree over [0, moments).
/// Bytes: size_t, or uint64_t if they may exceed the address space.
template <class Bytes>
class Skyline {
 public:
  /// Takes its memory from `memory`, which says afterwards whether it was short.
  void make(size_t moments, Pool* memory) {
    while (leaves_ < moments) leaves_ *= 2;
    nodes_ = memory->make<Node>(2 * leaves_);
  }
  void clear() {
    for (Node& node : nodes_) node = {};
  }
  Bytes highest(size_t from, size_t to) const { return highest(1, 0, leaves_ - 1, from, to); }
  void raise(size_t from, size_t to, Bytes end) { raise(1, 0, leaves_ - 1, from, to, end); }

 private:
  struct Node {
    Bytes highest;     ///< of the subtree
    Bytes everywhere;  ///< put over the whole of the subtree
  };

  // Depth is log2 of the number of nodes.
  Bytes highest(size_t n, size_t low, size_t high, size_t from, size_t to) const {
    if (to < low || high < from) return 0;
    if (from <= low && high <= to) return nodes_[n].highest;
    const size_t middle = (low + high) / 2;
    const Bytes below = std::max(highest(2 * n, low, middle, from, to),
                                 highest(2 * n + 1, middle + 1, high, from, to));
    return std::max(nodes_[n].everywhere, below);
  }
  void raise(size_t n, size_t low, size_t high, size_t from, size_t to, Bytes end) {
    if (to < low || high < from) return;
    Node& node = nodes_[n];
    node.highest = std::max(node.highest, end);
    if (from <= low && high <= to) {
      node.everywhere = std::max(node.everywhere, end);
      return;
    }
    const size_t middle = (low + high) / 2;
    raise(2 * n, low, middle, from, to, end);
    raise(2 * n + 1, middle + 1, high, from, to, end);
  }

  size_t leaves_ = 1;
  Span<Node> nodes_;
};

}  // namespace lazyrt
