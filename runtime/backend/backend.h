#pragma once

// The backend interface: how a session finds a kernel for each node and what services it gives them.

#include "lazyrt/error.h"
#include "runtime/op/op_def.h"

namespace lazyrt {

struct BackendOptions {
  int threads = 1;          ///< >= 1
  Allocator allocator;
  /// Identifies the constants of one Program, for packed-weight sharing; may be nullptr.
  void* weights = nullptr;
};

/// A way to run nodes. Constant data; one instance serves every session.
struct Backend {
  const char* name = nullptr;
  /// The kernel for this node, or nullptr with the reason in *why (kUnsupported).
  const Kernel* (*select)(const OpEntry& op, const NodeSpec& node, Status* why) = nullptr;
  /// Makes the per-session services that kernels get as `backend`; nullptr = none needed.
  Status (*open)(const BackendOptions& options, void** services) = nullptr;
  void (*close)(void* services, const Allocator& allocator) = nullptr;
  /// Asked in order when select finds nothing (e.g. cpu falls back to reference); may be nullptr.
  const Backend* fallback = nullptr;
};

}  // namespace lazyrt
