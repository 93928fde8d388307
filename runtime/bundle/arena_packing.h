#pragma once

// Where values lie in the arena: used by the exporter, and by the runtime when it binds a method to
// other sizes.

#include <cstdint>

#include "lazyrt/span.h"
#include "runtime/core/allocator.h"

namespace lazyrt {

/// A piece of the arena, and the nodes during which it is in use.
struct ArenaPiece {
  int32_t first = 0;    ///< index of the node that makes it; -1: before the run
  int32_t last = 0;     ///< of the last node that reads what is in it; the number of nodes: the end
  uint64_t bytes = 0;   ///< with the tail, a multiple of the alignment
  uint64_t offset = 0;  ///< the answer, a sum of other pieces' bytes
};

/// How many pairs of pieces that are alive together may be looked at, for this many pieces.
constexpr size_t most_pairs_for(size_t pieces) { return 65536 + 64 * pieces; }

/// Gives every piece an offset such that pieces alive at the same time do not overlap, and sets
/// *total to the bytes needed in all. Tries a few orders of placing, each into the tightest gap
/// that fits, and keeps the best; if more than `most_pairs` pairs are alive together, each piece is
/// put above what is there. The same pieces give the same offsets. False when memory is short.
/// Sources: Pisarchyk and Lee, "Efficient memory management for deep neural net inference", 2020
/// (greedy by size, greedy by breadth). REQUIRES: -1 <= first <= last; the sum of all bytes is
/// below 2^63.
[[nodiscard]] bool pack_arena(Span<ArenaPiece> pieces, const Allocator& memory, size_t most_pairs,
                              uint64_t* total);

/// The most bytes alive at one node: no offsets can need less. False when memory is short.
[[nodiscard]] bool arena_lower_bound(Span<const ArenaPiece> pieces, const Allocator& memory,
                                     uint64_t* bytes);

}  // namespace lazyrt
