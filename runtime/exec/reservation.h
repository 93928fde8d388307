#pragma once

#include "runtime/core/pool.h"
#include "runtime/exec/block.h"

namespace lazyrt {

/// Memory for any sizes of a method's inputs, borrowed by whatever is bound to them.
struct Reservation {
  Block arena;
  Block workspace;
  Block inputs;                ///< outside of the arena, because they stay when sizes change
  Span<uint64_t> input_bytes;  ///< per input: the most that it has

  uint64_t bytes() const { return arena.bytes() + workspace.bytes() + inputs.bytes(); }
};

/// A piece of memory with an owner elsewhere.
struct Room {
  uint8_t* data = nullptr;
  uint64_t bytes = 0;
};

/// Uses `reserved` if that is large enough, else `own`, which is made now; *room is the memory.
/// Errors as Block::make. `reserved` may be nullptr.
inline Fault borrow_or_make(const Block* reserved, uint64_t bytes, const Allocator& allocator,
                            Word what, Block* own, Room* room) {
  if (reserved == nullptr || reserved->bytes() < bytes)
    LAZYRT_RETURN_IF_ERROR(own->make(bytes, kAlignment, allocator, what));
  *room = {own->data() != nullptr ? own->data() : reserved->data(), bytes};
  return {};
}

}  // namespace lazyrt
