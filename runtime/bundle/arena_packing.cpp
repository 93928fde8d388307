#include "runtime/bundle/arena_packing.h"

#include <algorithm>

#include "runtime/bundle/skyline.h"
#include "runtime/core/pool.h"
#include "runtime/core/sort.h"

namespace lazyrt {
namespace {

/// The steps of a run, from -1 to `last`: the leaves of a complete binary tree, whose root is node
/// 1.
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

int32_t last_step(Span<const ArenaPiece> pieces) {
  int32_t last = 0;
  for (const ArenaPiece& p : pieces) last = std::max(last, p.last);
  return last;
}

/// Finds, for each piece, the largest sum of live bytes during its life; empty when memory is
/// short.
Span<uint64_t> find_pressures(Span<const ArenaPiece> pieces, Pool* memory) {
  const StepTree tree(last_step(pieces) + 1);
  const auto pressures = memory->make<uint64_t>(pieces.size());
  const auto live = memory->make<uint64_t>(tree.size());  // by node, the most at its steps
  if (memory->is_short()) return {};
  for (const ArenaPiece& p : pieces) {
    live[tree.leaf(p.first)] += p.bytes;
    live[tree.leaf(p.last + 1)] -= p.bytes;  // wraps; the sums do not
  }
  for (size_t i = tree.leaf(-1) + 1; i < live.size(); ++i) live[i] += live[i - 1];
  for (size_t n = tree.leaf(-1); --n > 0;) live[n] = std::max(live[2 * n], live[2 * n + 1]);
  for (size_t i = 0; i < pieces.size(); ++i) {
    uint64_t& most = pressures[i];
    tree.cover(pieces[i].first, pieces[i].last,
               [&](size_t node) { most = std::max(most, live[node]); });
  }
  return pressures;
}

/// The order in which pieces are placed: the largest by this number first.
enum class Order : uint8_t { kBytes, kPressure, kLife, kFirstStep };

struct Key {
  uint64_t first;
  uint64_t second;
};

Key key_of(Order order, const ArenaPiece& p, uint64_t pressure) {
  switch (order) {
    case Order::kBytes:
      return {p.bytes, 0};
    case Order::kPressure:
      return {pressure, p.bytes};
    case Order::kLife:
      return {static_cast<uint64_t>(p.last - p.first), p.bytes};
    default:
      return {static_cast<uint64_t>(INT64_C(1) - p.first + INT32_MAX), 0};
  }
}

/// A placed piece: [begin, end).
struct Range {
  uint64_t begin;
  uint64_t end;
};

/// Sorts ranges by their begins, with Shell's method: a piece has a few dozen neighbours. Measured
/// in the ArenaPacking tests: 433 M instructions; with the heapsort of core/sort.h 556 M, with
/// std::sort 407 M.
void sort_ranges(Span<Range> ranges) {
  for (size_t gap = ranges.size() / 2; gap != 0; gap = gap == 2 ? 1 : gap * 5 / 11) {
    for (size_t i = gap; i < ranges.size(); ++i) {
      const Range range = ranges[i];
      size_t at = i;
      for (; at >= gap && ranges[at - gap].begin > range.begin; at -= gap)
        ranges[at] = ranges[at - gap];
      ranges[at] = range;
    }
  }
}

/// Returns the offset of the tightest gap between `taken` that holds `bytes`, else the end of them.
/// Sorts `taken`.
uint64_t best_gap(uint64_t bytes, Span<Range> taken) {
  sort_ranges(taken);
  uint64_t end = 0, best = 0, best_size = UINT64_MAX;
  for (const Range& other : taken) {
    if (other.begin > end) {
      const uint64_t size = other.begin - end;
      if (size >= bytes && size < best_size) {
        best = end;
        best_size = size;
      }
    }
    end = std::max(end, other.end);
  }
  return best_size == UINT64_MAX ? end : best;
}

class Packer {
 public:
  Packer(Span<ArenaPiece> pieces, Pool* memory) : pieces_(pieces), memory_(memory) {}

  bool run(size_t most_pairs, uint64_t* total) {
    const size_t n = pieces_.size();
    pressures_ = find_pressures(pieces_, memory_);
    places_ = memory_->make<Place>(n);
    order_ = memory_->make<uint32_t>(n);
    alive_ = memory_->make<uint32_t>(n);
    if (memory_->is_short()) return false;
    for (uint64_t p : pressures_) least_ = std::max(least_, p);
    sort_by(Order::kFirstStep);
    in_gaps_ = each_pair(most_pairs);
    if (in_gaps_)
      list_neighbours();
    else
      skyline_.make(static_cast<size_t>(last_step(pieces_)) + 2, memory_);
    if (memory_->is_short()) return false;
    for (Order order : {Order::kBytes, Order::kPressure, Order::kLife, Order::kFirstStep}) {
      if (fewest_ != least_) try_order(order);  // nothing is better
    }
    *total = fewest_;
    return true;
  }

 private:
  struct Place {
    Key key;
    uint64_t offset;  ///< of the order that is tried
    bool is_placed;
    /// Into neighbours_, where its own end at first, and once they are all there, begin.
    uint32_t neighbours;
    uint32_t neighbour_count;
  };

  void sort_by(Order order) {
    for (size_t i = 0; i < pieces_.size(); ++i) {
      places_[i].key = key_of(order, pieces_[i], pressures_[i]);
      order_[i] = static_cast<uint32_t>(i);
    }
    sort(order_, [&](uint32_t a, uint32_t b) {
      const Key &x = places_[a].key, &y = places_[b].key;
      if (x.first != y.first) return x.first > y.first;
      return x.second != y.second ? x.second > y.second : a < b;
    });
  }

  /// Counts the pairs of pieces that are alive together, in the order of their first steps; lists
  /// them once there is room. False when there are more than `most`.
  bool each_pair(size_t most) {
    size_t alive = 0;
    for (uint32_t piece : order_) {
      size_t kept = 0;
      for (size_t k = 0; k < alive; ++k) {
        const uint32_t other = alive_[k];
        if (pieces_[other].last < pieces_[piece].first) continue;
        alive_[kept++] = other;
        if (most-- == 0) return false;
        add_neighbour(&places_[piece], other);
        add_neighbour(&places_[other], piece);
      }
      alive_[kept++] = piece;
      alive = kept;
    }
    return true;
  }
  void add_neighbour(Place* place, uint32_t other) {
    if (!neighbours_.empty()) {
      neighbours_[--place->neighbours] = other;
    } else {
      ++place->neighbour_count;
    }
  }

  /// REQUIRES: each_pair counted all of them.
  void list_neighbours() {
    uint32_t total = 0, most = 0;
    for (Place& place : places_) {
      place.neighbours = total += place.neighbour_count;
      most = std::max(most, place.neighbour_count);
    }
    neighbours_ = memory_->make<uint32_t>(total);
    taken_ = memory_->make<Range>(most);
    if (!neighbours_.empty()) each_pair(total);
  }

  /// Keeps the offsets of this order if no earlier order needed as few bytes.
  void try_order(Order order) {
    sort_by(order);
    const uint64_t total = in_gaps_ ? place_in_gaps() : place_above();
    if (total >= fewest_) return;
    fewest_ = total;
    for (size_t i = 0; i < pieces_.size(); ++i) pieces_[i].offset = places_[i].offset;
  }

  uint64_t place_in_gaps() {
    for (Place& place : places_) place.is_placed = false;
    uint64_t total = 0;
    for (uint32_t i : order_) {
      Place& place = places_[i];
      size_t count = 0;
      for (uint32_t k = 0; k < place.neighbour_count; ++k) {
        const uint32_t other = neighbours_[place.neighbours + k];
        if (!places_[other].is_placed) continue;
        const uint64_t begin = places_[other].offset;
        taken_[count++] = {begin, begin + pieces_[other].bytes};
      }
      place.offset = best_gap(pieces_[i].bytes, {taken_.data(), count});
      place.is_placed = true;
      total = std::max(total, place.offset + pieces_[i].bytes);
    }
    return total;
  }

  /// Places pieces without looking at pairs: each above everything that is there during its life.
  uint64_t place_above() {
    skyline_.clear();
    uint64_t total = 0;
    for (uint32_t i : order_) {
      const ArenaPiece& p = pieces_[i];
      const auto from = static_cast<size_t>(int64_t{p.first} + 1);
      const auto to = static_cast<size_t>(int64_t{p.last} + 1);
      const uint64_t offset = skyline_.highest(from, to);
      skyline_.raise(from, to, offset + p.bytes);
      places_[i].offset = offset;
      total = std::max(total, offset + p.bytes);
    }
    return total;
  }

  const Span<ArenaPiece> pieces_;
  Pool* const memory_;
  Span<uint64_t> pressures_;
  Span<Place> places_;  ///< per piece
  Span<uint32_t> order_;
  Span<uint32_t> alive_;
  Span<uint32_t> neighbours_;  ///< per piece, the pieces that are alive together with it
  Span<Range> taken_;
  bool in_gaps_ = true;
  Skyline<uint64_t> skyline_;
  uint64_t least_ = 0;
  uint64_t fewest_ = UINT64_MAX;
};

}  // namespace

bool pack_arena(Span<ArenaPiece> pieces, const Allocator& memory, size_t most_pairs,
                uint64_t* total) {
  *total = 0;
  Pool pool(memory);
  return pieces.empty() || Packer(pieces, &pool).run(most_pairs, total);
}

bool arena_lower_bound(Span<const ArenaPiece> pieces, const Allocator& memory, uint64_t* bytes) {
  Pool pool(memory);
  *bytes = 0;
  for (uint64_t p : find_pressures(pieces, &pool)) *bytes = std::max(*bytes, p);
  return !pool.is_short();
}

}  // namespace lazyrt
