#include "runtime/core/shared_objects.h"

namespace lazyrt {

SharedObjects::~SharedObjects() {
  while (count_ > 0) {
    const Slot& slot = slots_[--count_];
    if (slot.destroy != nullptr && slot.object != nullptr) slot.destroy(slot.object);
  }
}

Fault SharedObjects::find_or_add(const void* owner, Slot** slot) {
  for (int i = 0; i < count_; ++i) {
    if (slots_[i].owner != owner) continue;
    *slot = &slots_[i];
    return {};
  }
  if (count_ == kMaxOwners) {
    return Fault(Error::kUnsupported, "more than %d backends share one program", kMaxOwners);
  }
  *slot = &slots_[count_++];
  (*slot)->owner = owner;
  return {};
}

}  // namespace lazyrt
