#include "runtime/exec/services.h"

namespace lazyrt {

Status BackendServices::find_or_open(const Backend& backend, void** services) {
  for (int i = 0; i < count_; ++i) {
    if (slots_[i].backend == &backend) {
      *services = slots_[i].services;
      return {};
    }
  }
  if (count_ == kMaxBackends) {
    return Status(Error::kUnsupported, "a chain of more than %d backends", kMaxBackends);
  }
  BackendOptions options;
  options.threads = threads_;
  options.allocator = memory_->allocator();
  options.memory = memory_;
  if (backend.open_weights != nullptr) {
    const auto open = [&](void** weights) { return backend.open_weights(weights_, weights); };
    LAZYRT_RETURN_IF_ERROR(
        shared_->find_or_make(&backend, open, backend.close_weights, &options.weights));
  }
  Slot slot = {&backend, nullptr};
  if (backend.open != nullptr) {
    LAZYRT_RETURN_IF_ERROR(
        backend.open(options, &slot.services).with_context("backend %s", backend.name));
  }
  slots_[count_++] = slot;
  *services = slot.services;
  return {};
}

void BackendServices::close() {
  while (count_ > 0) {
    const Slot& slot = slots_[--count_];
    if (slot.backend->close != nullptr && slot.services != nullptr) {
      slot.backend->close(slot.services, memory_->allocator());
    }
  }
}

}  // namespace lazyrt
