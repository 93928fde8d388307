#pragma once

#include <mutex>

#include "lazyrt/error.h"

namespace lazyrt {

/// Objects that outlive their first user: one for each owner (e.g. a backend), made on first
/// demand. Safe on several threads.
class SharedObjects {
 public:
  static constexpr int kMaxOwners = 8;

  SharedObjects() = default;
  SharedObjects(const SharedObjects&) = delete;
  SharedObjects& operator=(const SharedObjects&) = delete;
  /// Destroys all objects, newest first.
  ~SharedObjects();

  /// The object of `owner`, made by `make` if there is none yet; a failed `make` is tried again by
  /// the next call. `destroy` may be nullptr.
  Status find_or_make(const void* owner, Status (*make)(void** object),
                      void (*destroy)(void* object), void** object);

 private:
  struct Slot {
    const void* owner = nullptr;
    void* object = nullptr;
    void (*destroy)(void*) = nullptr;
  };

  std::mutex mutex_;
  Slot slots_[kMaxOwners];
  int count_ = 0;
};

}  // namespace lazyrt
