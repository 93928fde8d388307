#pragma once

#include "runtime/backend/backend.h"
#include "runtime/core/shared_objects.h"

namespace lazyrt {

/// What the backends of one session hold, each opened when the first node needs it.
class BackendServices {
 public:
  /// A backend and its fallbacks are at most this many.
  static constexpr int kMaxBackends = 4;

  BackendServices() = default;
  BackendServices(const BackendServices&) = delete;
  BackendServices& operator=(const BackendServices&) = delete;
  ~BackendServices() { close(); }

  /// REQUIRES: `memory` outlives this.
  void init(int threads, CountedMemory* memory, SharedObjects* shared,
            const WeightOptions& weights) {
    threads_ = threads;
    memory_ = memory;
    shared_ = shared;
    weights_ = weights;
  }
  int threads() const { return threads_; }
  /// A backend that is open.
  struct Slot {
    const Backend* backend = nullptr;
    void* services = nullptr;
    void* program = nullptr;  ///< what open_weights made
  };

  /// The number of this backend's slot, opened if it is not yet. Numbers stay.
  Fault find_or_open(const Backend& backend, int* slot);
  /// REQUIRES: opened.
  const Slot& slot(int i) const { return slots_[i]; }
  /// REQUIRES: no kernel or segment of these backends is left.
  void close();

 private:
  int threads_ = 1;
  CountedMemory* memory_ = nullptr;
  SharedObjects* shared_ = nullptr;
  WeightOptions weights_;
  Slot slots_[kMaxBackends];
  int count_ = 0;
};

}  // namespace lazyrt
