#pragma once

#include "runtime/core/fault.h"
#include "runtime/platform/threads.h"

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

  /// The object of `owner`, made by make(void** object), which answers a Fault, if there is none
  /// yet; a failed `make` is tried again by the next call. `destroy` may be nullptr.
  template <class Make>
  Fault find_or_make(const void* owner, const Make& make, void (*destroy)(void* object),
                     void** object) {
    const Lock lock(mutex_);
    Slot* slot = nullptr;
    LAZYRT_RETURN_IF_ERROR(find_or_add(owner, &slot));
    if (slot->object == nullptr) {
      LAZYRT_RETURN_IF_ERROR(make(&slot->object));
      slot->destroy = destroy;
    }
    *object = slot->object;
    return {};
  }

 private:
  struct Slot {
    const void* owner = nullptr;
    void* object = nullptr;
    void (*destroy)(void*) = nullptr;
  };

  /// The slot of `owner`; its object may not be made yet.
  Fault find_or_add(const void* owner, Slot** slot);

  Mutex mutex_;
  Slot slots_[kMaxOwners];
  int count_ = 0;
};

}  // namespace lazyrt
