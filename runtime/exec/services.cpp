#include "runtime/exec/services.h"

namespace lazyrt {

Fault BackendServices::find_or_open(const Backend& backend, int* slot) {
  for (*slot = 0; *slot < count_; ++*slot) {
    if (slots_[*slot].backend == &backend) return {};
  }
  if (count_ == kMaxBackends) {
    return Fault(Error::kUnsupported, "a chain of more than %d backends", kMaxBackends);
  }
  BackendOptions options;
  options.threads = threads_;
  options.allocator = memory_->allocator();
  options.memory = memory_;
  options.backend = &backend;
  if (backend.open_weights != nullptr) {
    const WeightOptions weights = {program_->memory.allocator(),
                                   program_->sections.constants.size(), &backend};
    const auto open = [&](void** opened) { return backend.open_weights(weights, opened); };
    LAZYRT_RETURN_IF_ERROR(
        program_->shared.find_or_make(&backend, open, backend.close_weights, &options.weights));
  }
  Slot opened = {&backend, nullptr, options.weights};
  if (backend.open != nullptr) {
    LAZYRT_RETURN_IF_ERROR(
        backend.open(options, &opened.services).with_context("backend %s", backend.name));
  }
  slots_[count_++] = opened;  // *slot is its number
  return {};
}

Fault BackendServices::keep_reason(const FirstFault& why, const char** reason) const {
  if (why.ok() || *reason != nullptr) return {};
  *reason = program_->memory.keep(Fault(why).message());
  return *reason != nullptr ? Fault() : Fault(Error::kOutOfMemory, "no memory for a session");
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
