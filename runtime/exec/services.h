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

  void init(int threads, const Allocator& allocator, SharedObjects* shared) {
    threads_ = threads;
    allocator_ = allocator;
    shared_ = shared;
  }
  /// The services of this backend, opened if they are not yet.
  Status find_or_open(const Backend& backend, void** services);
  /// REQUIRES: no kernel of these backends is left.
  void close();

 private:
  struct Slot {
    const Backend* backend = nullptr;
    void* services = nullptr;
  };

  int threads_ = 1;
  Allocator allocator_;
  SharedObjects* shared_ = nullptr;
  Slot slots_[kMaxBackends];
  int count_ = 0;
};

}  // namespace lazyrt
