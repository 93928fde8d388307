#include "host_tracer/plan/packing.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace lazyrt {
namespace {

/// The steps of a run, from -1 to `last`: leaves of a complete binary tree, whose root is node 1.
class StepTree {
 public:
  explicit StepTree(int32_t last) {
    while (leaves_ < static_cast<size_t>(last) + 2) leaves_ *= 2;
  }
  size_t size() const { return 2 * leaves_; }
  size_t leaf(int32_t step) const { return leaves_ + static_cast<size_t>(step + 1); }

  /// Calls visit(node) for nodes whose leaves are the steps first..last, O(log last) of them.
  template <class Visit>
  void cover(int32_t first, int32_t last, Visit visit) const {
    size_t a = leaf(first), b = leaf(last) + 1;
    for (; a < b; a /= 2, b /= 2) {
      if (a % 2 == 1) visit(a++);
      if (b % 2 == 1) visit(--b);
    }
  }

 private:
  size_t leaves_ = 1;
};

int32_t last_step(const std::vector<Allocation>& allocations) {
  int32_t last = 0;
  for (const Allocation& a : allocations) last = std::max(last, a.last);
  return last;
}

/// Placed allocations, found by when they are alive.
class Placed {
 public:
  explicit Placed(int32_t last_step) : tree_(last_step), covering_(tree_.size()) {}

  void add(const Allocation& a) {
    tree_.cover(a.first, a.last, [&](size_t node) { covering_[node].push_back(&a); });
    starting_[a.first].push_back(&a);
  }

  /// Those that are alive together with `a`, by offset.
  std::vector<const Allocation*> beside(const Allocation& a) const {
    std::vector<const Allocation*> found;
    const auto take = [&](const auto& some) {
      found.insert(found.end(), some.begin(), some.end());
    };
    for (size_t node = tree_.leaf(a.first); node > 0; node /= 2) take(covering_[node]);
    auto later = starting_.upper_bound(a.first);
    for (; later != starting_.end() && later->first <= a.last; ++later) take(later->second);
    std::sort(found.begin(), found.end(), [](const Allocation* x, const Allocation* y) {
      return std::pair(x->offset, x->bytes) < std::pair(y->offset, y->bytes);
    });
    return found;
  }

 private:
  StepTree tree_;
  std::vector<std::vector<const Allocation*>> covering_;  ///< by node, those alive at its steps
  std::map<int32_t, std::vector<const Allocation*>> starting_;
};

/// Offset of the tightest gap between neighbours that takes `bytes`; else the end of them.
uint64_t best_gap(uint64_t bytes, const std::vector<const Allocation*>& by_offset) {
  uint64_t end = 0, best = 0, best_size = UINT64_MAX;
  for (const Allocation* other : by_offset) {
    if (other->offset > end) {
      const uint64_t size = other->offset - end;
      if (size >= bytes && size < best_size) {
        best = end;
        best_size = size;
      }
    }
    end = std::max(end, other->offset + other->bytes);
  }
  return best_size == UINT64_MAX ? end : best;
}

uint64_t place(std::vector<Allocation>* allocations, const std::vector<size_t>& order) {
  Placed placed(last_step(*allocations));
  uint64_t total = 0;
  for (size_t i : order) {
    Allocation& a = (*allocations)[i];
    a.offset = best_gap(a.bytes, placed.beside(a));
    total = std::max(total, a.offset + a.bytes);
    placed.add(a);
  }
  return total;
}

/// For each allocation the largest sum of live bytes during its life.
std::vector<uint64_t> pressures(const std::vector<Allocation>& allocations) {
  const StepTree tree(last_step(allocations) + 1);
  std::vector<uint64_t> live(tree.size(), 0);  // by node, the most at its steps
  for (const Allocation& a : allocations) {
    live[tree.leaf(a.first)] += a.bytes;
    live[tree.leaf(a.last + 1)] -= a.bytes;  // wraps; the sums do not
  }
  std::partial_sum(live.begin() + static_cast<ptrdiff_t>(tree.leaf(-1)), live.end(),
                   live.begin() + static_cast<ptrdiff_t>(tree.leaf(-1)));
  for (size_t node = tree.leaf(-1); --node > 0;) {
    live[node] = std::max(live[2 * node], live[2 * node + 1]);
  }
  std::vector<uint64_t> most(allocations.size(), 0);
  for (size_t i = 0; i < allocations.size(); ++i) {
    const Allocation& a = allocations[i];
    tree.cover(a.first, a.last, [&](size_t node) { most[i] = std::max(most[i], live[node]); });
  }
  return most;
}

template <class Key>
std::vector<size_t> ordered(size_t n, Key key) {
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return key(a) > key(b); });
  return order;
}

}  // namespace

uint64_t peak_bytes(const std::vector<Allocation>& allocations) {
  uint64_t peak = 0;
  for (uint64_t p : pressures(allocations)) peak = std::max(peak, p);
  return peak;
}

uint64_t pack(std::vector<Allocation>* allocations) {
  const std::vector<Allocation>& a = *allocations;
  const size_t n = a.size();
  const std::vector<uint64_t> pressure = pressures(a);
  const auto size = [&](size_t i) { return a[i].bytes; };
  const auto length = [&](size_t i) { return a[i].last - a[i].first; };
  const std::vector<size_t> orders[] = {
      ordered(n, size),
      ordered(n, [&](size_t i) { return std::pair(pressure[i], size(i)); }),
      ordered(n, [&](size_t i) { return std::pair(length(i), size(i)); }),
      ordered(n, [&](size_t i) { return -a[i].first; }),
  };
  std::vector<Allocation> best;
  uint64_t fewest = UINT64_MAX;
  for (const std::vector<size_t>& order : orders) {
    std::vector<Allocation> attempt = a;
    const uint64_t bytes = place(&attempt, order);
    if (bytes >= fewest) continue;
    fewest = bytes;
    best = std::move(attempt);
  }
  *allocations = std::move(best);
  return fewest;
}

}  // namespace lazyrt
