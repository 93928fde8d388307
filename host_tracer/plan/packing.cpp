#include "host_tracer/plan/packing.h"

#include <new>

#include "runtime/bundle/arena_packing.h"

namespace lazyrt {
namespace {

/// If more pairs of values than this are alive together, the packing is a coarse one.
constexpr size_t kMostPairs = size_t{1} << 26;

std::vector<ArenaPiece> pieces_of(const std::vector<Allocation>& allocations) {
  std::vector<ArenaPiece> pieces;
  pieces.reserve(allocations.size());
  for (const Allocation& a : allocations) pieces.push_back({a.first, a.last, a.bytes, a.offset});
  return pieces;
}

}  // namespace

uint64_t peak_bytes(const std::vector<Allocation>& allocations) {
  const std::vector<ArenaPiece> pieces = pieces_of(allocations);
  uint64_t peak = 0;
  if (!arena_lower_bound(pieces, platform_allocator(), &peak)) throw std::bad_alloc();
  return peak;
}

uint64_t pack(std::vector<Allocation>* allocations) {
  std::vector<ArenaPiece> pieces = pieces_of(*allocations);
  uint64_t total = 0;
  if (!pack_arena(pieces, platform_allocator(), kMostPairs, &total)) throw std::bad_alloc();
  for (size_t i = 0; i < pieces.size(); ++i) (*allocations)[i].offset = pieces[i].offset;
  return total;
}

}  // namespace lazyrt
