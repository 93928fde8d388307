#pragma once

// The backend interface: how a session finds a kernel for each node, and which services it gives
// kernels.

#include "runtime/backend/device.h"
#include "runtime/core/counted_memory.h"
#include "runtime/core/fault.h"
#include "runtime/op/op_def.h"

namespace lazyrt {

struct Backend;
class RunStop;

struct BackendOptions {
  int threads = 1;  ///< >= 1
  Allocator allocator;
  /// The session's, which `allocator` is of: for what it does not see. Lives longer than the
  /// services; may be nullptr: nothing is counted.
  CountedMemory* memory = nullptr;
  /// What open_weights made for the Program that the session runs; may be nullptr: nothing is
  /// shared.
  void* weights = nullptr;
  /// The one that is opened: it may be part of something larger, which its owner keeps alive.
  const Backend* backend = nullptr;
  bool profile = false;  ///< Device::times will be called
  /// Tells whether the run is to be stopped. A device may ask before it begins more of the queued
  /// work; if the stop is due, it drops that work, and `wait` returns the status of the stop.
  /// nullptr: runs are not stopped.
  const RunStop* stop = nullptr;
};

/// The program for which a store of packed constants is made.
struct WeightOptions {
  Allocator allocator;               ///< the Program's
  uint64_t constant_bytes = 0;       ///< of all constants of the Program
  const Backend* backend = nullptr;  ///< as in BackendOptions
};

/// A way to run nodes: by kernels, node by node in the host's memory, or by a device. Constant
/// data; one instance serves every session, and outlives the Programs that they run. Whoever has
/// something that lives longer than a Program (a device, its queue, compiled code) derives from
/// this: `struct MyBackend : Backend`, and finds it again by the `backend` of the options.
struct Backend {
  const char* name = nullptr;
  /// The kernel for this node, or nullptr with the reason in *why (kUnsupported). Not called where
  /// there is a device.
  const Kernel* (*select)(const OpEntry& op, const NodeSpec& node, Fault* why) = nullptr;
  /// Makes the per-session services that kernels get as `backend`; nullptr = none needed.
  Fault (*open)(const BackendOptions& options, void** services) = nullptr;
  void (*close)(void* services, const Allocator& allocator) = nullptr;
  /// Makes the store of packed constants that all sessions of one Program share. Called once for
  /// each Program and backend, under the Program's lock; the Program keeps the store and passes it
  /// as BackendOptions::weights. Safe to use from several sessions on several threads. nullptr =
  /// none.
  Fault (*open_weights)(const WeightOptions& options, void** weights) = nullptr;
  /// Called when the Program is destroyed, after all its sessions.
  void (*close_weights)(void* weights) = nullptr;
  /// The most bytes that such a store can grow to; nullptr = 0.
  uint64_t (*most_weight_bytes)(uint64_t constant_bytes) = nullptr;
  /// Asked in order when select finds nothing (e.g. cpu falls back to reference); may be nullptr.
  const Backend* fallback = nullptr;
  /// nullptr: kernels.
  const Device* device = nullptr;
};

}  // namespace lazyrt
