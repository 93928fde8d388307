#pragma once

// What the variants of a session share.

#include "runtime/core/profile.h"
#include "runtime/exec/device_memory.h"
#include "runtime/exec/plan.h"

namespace lazyrt {

inline Fault no_memory_for_session() {
  return Fault(Error::kOutOfMemory, "no memory for a session");
}

/// What the variants of a session share. Owned by the session.
struct SharedMemory {
  SpaceMemory spaces[kMostSpaces];
  uint64_t arena_bytes = 0;
  Span<uint8_t* const> states;  ///< on the host, per state of the method
};

/// Where a state may live, a bit for each space.
struct StateHome {
  uint8_t allowed = UINT8_MAX;  ///< by all programs of the method
  uint8_t wanted = 0;           ///< by some
};

/// Where a node comes from, as far as the bundle says it. REQUIRES: `source` is one of the
/// method's, or -1.
void describe_source(const fb::Method& texts, int32_t source, NodeInfo* info);

}  // namespace lazyrt
