#pragma once

// The memory that a node may take while it is prepared, in proportion to its operands and results.

#include "runtime/backend/backend.h"

namespace lazyrt {

/// Bytes that a node's kernel may take besides arena, workspace and packed weights.
uint64_t share_of(const NodeSpec& node);

/// Returns kUnsupported, so that the next backend is asked, if `status` says that the share was too
/// small; else `status`.
Fault refused_beyond_share(const Fault& status, CountedMemory* memory);

/// Calls make(), which returns a Fault, with at most this much of `memory`. If it asks for more,
/// the result is kUnsupported.
template <class Make>
Fault within_share(CountedMemory* memory, uint64_t share, const Make& make) {
  memory->forget_refusal();
  memory->begin_share(share);
  const Fault status = make();
  memory->end_share();
  return refused_beyond_share(status, memory);
}

/// Prepares the kernel, within the share of its node if another backend may take the node instead.
Fault prepare_kernel(const Kernel& kernel, const Backend& backend, const PrepareContext& context,
                     CountedMemory* memory, int threads, PreparedKernel* prepared);

}  // namespace lazyrt
