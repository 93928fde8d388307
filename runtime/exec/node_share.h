#pragma once

// What a node may take while it is prepared, in proportion to its operands and results.

#include "runtime/backend/backend.h"

namespace lazyrt {

/// Bytes that a node's kernel may take beside arena, workspace and packed weights.
uint64_t share_of(const NodeSpec& node);

/// kUnsupported, so that the next backend is asked, where `status` says that the share was too
/// small; else `status`.
Fault refused_beyond_share(const Fault& status, CountedMemory* memory);

/// Calls make(), which answers a Fault, with no more of `memory` than this. What asks for more
/// refuses (kUnsupported).
template <class Make>
Fault within_share(CountedMemory* memory, uint64_t share, const Make& make) {
  memory->forget_refusal();
  memory->begin_share(share);
  const Fault status = make();
  memory->end_share();
  return refused_beyond_share(status, memory);
}

/// Prepares the kernel within the share of its node, if another backend may take the node instead.
Fault prepare_kernel(const Kernel& kernel, const Backend& backend, const PrepareContext& context,
                     CountedMemory* memory, int threads, PreparedKernel* prepared);

}  // namespace lazyrt
