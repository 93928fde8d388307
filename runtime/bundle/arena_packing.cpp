#include "runtime/bundle/arena_packing.h"

#include <algorithm>

#include "runtime/bundle/skyline.h"
#include "runtime/core/array.h"
#include "runtime/core/sort.h"

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

int32_t last_step(Span<const ArenaPiece> pieces) {
  int32_t last = 0;
  for (const ArenaPiece& p : pieces) last = std::max(last, p.last);
  return last;
}

/// For each piece the largest sum of live bytes during its life. False when memory is short.
bool find_pressures(Span<const ArenaPiece> pieces, const Allocator& memory,
                    Array<uint64_t>* pressures) {
  const StepTree tree(last_step(pieces) + 1);
  Array<uint64_t> live;  // by node, the most at its steps
  if (!live.make(tree.size(), memory) || !pressures->make(pieces.size(), memory)) return false;
  for (const ArenaPiece& p : pieces) {
    live[tree.leaf(p.first)] += p.bytes;
    live[tree.leaf(p.last + 1)] -= p.bytes;  // wraps; the sums do not
  }
  for (size_t i = tree.leaf(-1) + 1; i < live.size(); ++i) live[i] += live[i - 1];
  for (size_t n = tree.leaf(-1); --n > 0;) live[n] = std::max(live[2 * n], live[2 * n + 1]);
  for (size_t i = 0; i < pieces.size(); ++i) {
    uint64_t& most = (*pressures)[i];
    tree.cover(pieces[i].first, pieces[i].last,
               [&](size_t node) { most = std::max(most, live[node]); });
  }
  return true;
}

/// Per piece those that are alive together with it.
class Neighbours {
 public:
  enum class Found : uint8_t { kAll, kTooMany, kNoMemory };

  Found find(Span<const ArenaPiece> pieces, const Allocator& memory, size_t most_pairs) {
    const size_t n = pieces.size();
    if (!begin_.make(n + 1, memory) || !order_.make(n, memory) || !alive_.make(n, memory))
      return Found::kNoMemory;
    for (size_t i = 0; i < n; ++i) order_[i] = static_cast<uint32_t>(i);
    sort(Span<uint32_t>(order_.data(), order_.size()), [&](uint32_t a, uint32_t b) {
      return pieces[a].first != pieces[b].first ? pieces[a].first < pieces[b].first : a < b;
    });
    const bool fits = each_pair(pieces, most_pairs, [&](uint32_t a, uint32_t b) {
      ++begin_[a];
      ++begin_[b];
    });
    if (!fits) return Found::kTooMany;
    uint32_t total = 0;
    for (uint32_t& count : begin_) count = total += count;  // now the end of each one's
    if (!others_.make(total, memory)) return Found::kNoMemory;
    each_pair(pieces, most_pairs, [&](uint32_t a, uint32_t b) {
      others_[--begin_[a]] = b;
      others_[--begin_[b]] = a;
    });
    return Found::kAll;
  }

  Span<const uint32_t> of(size_t i) const {
    return {others_.data() + begin_[i], begin_[i + 1] - begin_[i]};
  }
  size_t most() const {
    size_t most = 0;
    for (size_t i = 0; i + 1 < begin_.size(); ++i) most = std::max(most, of(i).size());
    return most;
  }

 private:
  /// Calls visit(a, b) for each pair alive together, in the order of their first steps. False when
  /// there are more than `most`.
  template <class Visit>
  bool each_pair(Span<const ArenaPiece> pieces, size_t most, Visit visit) {
    size_t alive = 0;
    for (uint32_t piece : order_) {
      size_t kept = 0;
      for (size_t k = 0; k < alive; ++k) {
        const uint32_t other = alive_[k];
        if (pieces[other].last < pieces[piece].first) continue;
        alive_[kept++] = other;
        if (most-- == 0) return false;
        visit(piece, other);
      }
      alive_[kept++] = piece;
      alive = kept;
    }
    return true;
  }

  Array<uint32_t> order_;  ///< by first step
  Array<uint32_t> alive_;
  Array<uint32_t> begin_;   ///< per piece into others_, and one more where the last one's end
  Array<uint32_t> others_;  ///< piece by piece
};

/// A placed piece: [begin, end).
struct Range {
  uint64_t begin = 0;
  uint64_t end = 0;
};

/// Offset of the tightest gap between `taken` that takes `bytes`; else the end of them. Sorts them.
uint64_t best_gap(uint64_t bytes, Span<Range> taken) {
  std::sort(taken.begin(), taken.end(), [](const Range& a, const Range& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
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

/// What an order of placing goes by: the largest first, then by `size`, then as they came.
struct Key {
  uint64_t first = 0;
  uint64_t size = 0;
};

class Packer {
 public:
  explicit Packer(Span<ArenaPiece> pieces) : pieces_(pieces) {}

  bool run(const Allocator& memory, size_t most_pairs, uint64_t* total) {
    const size_t n = pieces_.size();
    if (!find_pressures(pieces_, memory, &pressures_) || !keys_.make(n, memory) ||
        !order_.make(n, memory)) {
      return false;
    }
    for (uint64_t p : pressures_) least_ = std::max(least_, p);
    const auto found = neighbours_.find(pieces_, memory, most_pairs);
    if (found == Neighbours::Found::kNoMemory) return false;
    in_gaps_ = found == Neighbours::Found::kAll;
    if (!offsets_.make(n, memory) || !placed_.make(n, memory) ||
        !taken_.make(in_gaps_ ? neighbours_.most() : 0, memory) ||
        !(in_gaps_ || skyline_.make(static_cast<size_t>(last_step(pieces_)) + 2, memory))) {
      return false;
    }
    try_orders();
    *total = fewest_;
    return true;
  }

 private:
  void try_orders() {
    using Piece = ArenaPiece;
    try_order([](const Piece& p, uint64_t) { return Key{p.bytes, 0}; });
    try_order([](const Piece& p, uint64_t pressure) { return Key{pressure, p.bytes}; });
    try_order([](const Piece& p, uint64_t) {
      return Key{static_cast<uint64_t>(p.last - p.first), p.bytes};
    });
    try_order([](const Piece& p, uint64_t) {
      return Key{static_cast<uint64_t>(INT64_C(1) - p.first + INT32_MAX), 0};
    });
  }

  /// Keeps the offsets of this order if none before it needed as few bytes.
  template <class MakeKey>
  void try_order(MakeKey make_key) {
    if (fewest_ == least_) return;  // nothing is better
    for (size_t i = 0; i < pieces_.size(); ++i) keys_[i] = make_key(pieces_[i], pressures_[i]);
    sort_by_keys();
    const uint64_t total = in_gaps_ ? place_in_gaps() : place_above();
    if (total >= fewest_) return;
    fewest_ = total;
    for (size_t i = 0; i < pieces_.size(); ++i) pieces_[i].offset = offsets_[i];
  }

  void sort_by_keys() {
    for (size_t i = 0; i < pieces_.size(); ++i) order_[i] = static_cast<uint32_t>(i);
    sort(Span<uint32_t>(order_.data(), order_.size()), [&](uint32_t a, uint32_t b) {
      if (keys_[a].first != keys_[b].first) return keys_[a].first > keys_[b].first;
      return keys_[a].size != keys_[b].size ? keys_[a].size > keys_[b].size : a < b;
    });
  }

  uint64_t place_in_gaps() {
    for (bool& placed : placed_) placed = false;
    uint64_t total = 0;
    for (uint32_t i : order_) {
      size_t count = 0;
      for (uint32_t other : neighbours_.of(i)) {
        if (!placed_[other]) continue;
        taken_[count++] = {offsets_[other], offsets_[other] + pieces_[other].bytes};
      }
      offsets_[i] = best_gap(pieces_[i].bytes, {taken_.data(), count});
      placed_[i] = true;
      total = std::max(total, offsets_[i] + pieces_[i].bytes);
    }
    return total;
  }

  /// Without looking at pairs: each above what is there during its life.
  uint64_t place_above() {
    skyline_.clear();
    uint64_t total = 0;
    for (uint32_t i : order_) {
      const ArenaPiece& p = pieces_[i];
      const auto from = static_cast<size_t>(int64_t{p.first} + 1);
      const auto to = static_cast<size_t>(int64_t{p.last} + 1);
      offsets_[i] = skyline_.highest(from, to);
      skyline_.raise(from, to, offsets_[i] + p.bytes);
      total = std::max(total, offsets_[i] + p.bytes);
    }
    return total;
  }

  Span<ArenaPiece> pieces_;
  Array<uint64_t> pressures_;
  Neighbours neighbours_;
  Array<Key> keys_;
  Array<uint32_t> order_;
  Array<uint64_t> offsets_;  ///< of the order that is tried
  Array<bool> placed_;
  Array<Range> taken_;
  bool in_gaps_ = true;
  Skyline<uint64_t> skyline_;
  uint64_t least_ = 0;
  uint64_t fewest_ = UINT64_MAX;
};

}  // namespace

bool pack_arena(Span<ArenaPiece> pieces, const Allocator& memory, size_t most_pairs,
                uint64_t* total) {
  *total = 0;
  return pieces.empty() || Packer(pieces).run(memory, most_pairs, total);
}

bool arena_lower_bound(Span<const ArenaPiece> pieces, const Allocator& memory, uint64_t* bytes) {
  Array<uint64_t> pressures;
  *bytes = 0;
  if (!find_pressures(pieces, memory, &pressures)) return false;
  for (uint64_t p : pressures) *bytes = std::max(*bytes, p);
  return true;
}

}  // namespace lazyrt
