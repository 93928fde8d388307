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
  /// Per state of the method: its place in SpaceMemory::states. The host's pointer may be nullptr
  /// if nothing reads states there.
  Span<const uint64_t> states;
};

/// `base` may be nullptr, for a place that nothing reads, or an address that is not the host's.
inline uint8_t* place_at(uint8_t* base, uint64_t offset) {
  return reinterpret_cast<uint8_t*>(reinterpret_cast<uintptr_t>(base) +
                                    static_cast<uintptr_t>(offset));
}

/// The spaces in which a state may live, one bit each.
struct StateHome {
  uint8_t allowed = UINT8_MAX;  ///< by all programs of the method
  uint8_t wanted = 0;           ///< by some
};

/// Fills in where a node comes from, as far as the bundle says so. REQUIRES: `source` is one of the
/// method's, or -1.
void describe_source(const fb::Method& texts, int32_t source, NodeInfo* info);

}  // namespace lazyrt
