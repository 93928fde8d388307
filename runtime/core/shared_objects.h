#pragma once

#include "runtime/core/fault.h"
#include "runtime/platform/threads.h"

namespace lazyrt {

/// Objects that outlive their first user: one for each owner (such as a backend), made when it is
/// first needed. Safe on several threads.
class SharedObjects {
 public:
  static constexpr int kMaxOwners = 8;

  SharedObjects() = default;
  SharedObjects(const SharedObjects&) = delete;
  SharedObjects& operator=(const SharedObjects&) = delete;
  /// Destroys all objects, newest first.
  ~SharedObjects();

  /// Returns the object of `owner`; if there is none yet, make(void** object), which returns a
  /// Fault, makes it. After a failure the next call tries again. `destroy` may be nullptr.
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
