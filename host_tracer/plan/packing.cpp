#include "host_tracer/plan/packing.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace lazyrt {
namespace {

bool alive_together(const Allocation& a, const Allocation& b) {
  return a.first <= b.last && b.first <= a.last;
}

/// Offset of the tightest gap between placed neighbours that takes `a`; else the end of them.
uint64_t best_gap(const Allocation& a, const std::vector<const Allocation*>& by_offset) {
  uint64_t end = 0, best = 0, best_size = UINT64_MAX;
  for (const Allocation* other : by_offset) {
    if (!alive_together(a, *other)) continue;
    if (other->offset > end) {
      const uint64_t size = other->offset - end;
      if (size >= a.bytes && size < best_size) {
        best = end;
        best_size = size;
      }
    }
    end = std::max(end, other->offset + other->bytes);
  }
  return best_size == UINT64_MAX ? end : best;
}

uint64_t place(std::vector<Allocation>* allocations, const std::vector<size_t>& order) {
  std::vector<const Allocation*> by_offset;
  uint64_t total = 0;
  for (size_t i : order) {
    Allocation& a = (*allocations)[i];
    a.offset = best_gap(a, by_offset);
    total = std::max(total, a.offset + a.bytes);
    const auto less = [](const Allocation* x, const Allocation* y) {
      return x->offset < y->offset;
    };
    by_offset.insert(std::upper_bound(by_offset.begin(), by_offset.end(), &a, less), &a);
  }
  return total;
}

/// For each allocation the largest sum of live bytes during its life.
std::vector<uint64_t> pressures(const std::vector<Allocation>& allocations) {
  std::map<int32_t, int64_t> changes;
  for (const Allocation& a : allocations) {
    changes[a.first] += static_cast<int64_t>(a.bytes);
    changes[a.last + 1] -= static_cast<int64_t>(a.bytes);
  }
  std::map<int32_t, uint64_t> live;
  int64_t sum = 0;
  for (const auto& [time, change] : changes) live[time] = static_cast<uint64_t>(sum += change);
  std::vector<uint64_t> most;
  for (const Allocation& a : allocations) {
    uint64_t m = 0;
    for (auto it = live.lower_bound(a.first); it != live.end() && it->first <= a.last; ++it) {
      m = std::max(m, it->second);
    }
    most.push_back(m);
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
