#include "runtime/core/shared_objects.h"

namespace lazyrt {

SharedObjects::~SharedObjects() {
  while (count_ > 0) {
    const Slot& slot = slots_[--count_];
    if (slot.destroy != nullptr) slot.destroy(slot.object);
  }
}

Status SharedObjects::find_or_make(const void* owner, Status (*make)(void**),
                                   void (*destroy)(void*), void** object) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (int i = 0; i < count_; ++i) {
    if (slots_[i].owner == owner) {
      *object = slots_[i].object;
      return {};
    }
  }
  if (count_ == kMaxOwners) {
    return Status(Error::kUnsupported, "more than %d backends share one program", kMaxOwners);
  }
  Slot slot = {owner, nullptr, destroy};
  LAZYRT_RETURN_IF_ERROR(make(&slot.object));
  slots_[count_++] = slot;
  *object = slot.object;
  return {};
}

}  // namespace lazyrt
