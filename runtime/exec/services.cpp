#include "runtime/exec/services.h"

#include <new>

namespace lazyrt {

Fault BackendServices::find_or_open(const Backend& backend, int* slot) {
  for (*slot = 0; *slot < count_; ++*slot) {
    const Slot& open = slots_[*slot];
    if (open.backend == &backend) return open.refusal == nullptr ? Fault() : Fault(*open.refusal);
  }
  if (count_ == kMaxBackends) {
    return Fault(Error::kUnsupported, "a chain of more than %d backends", kMaxBackends);
  }
  Slot opened;
  opened.backend = &backend;
  const Fault status = open(&opened);
  if (kDevices && status.error() == Error::kUnsupported) return keep_refusal(status, &opened);
  LAZYRT_RETURN_IF_ERROR(status);
  slots_[count_++] = opened;  // *slot is its number
  return {};
}

Fault BackendServices::open(Slot* slot) const {
  const Backend& backend = *slot->backend;
  BackendOptions options;
  options.threads = threads();
  options.allocator = memory_->allocator();
  options.memory = memory_;
  options.backend = &backend;
  if (kDevices) {
    options.profile = options_->profile;
    options.stop = stop_;
  }
  if (backend.open_weights != nullptr) {
    const WeightOptions weights = {program_->memory.allocator(),
                                   program_->sections.constants.size(), &backend};
    const auto open = [&](void** opened) { return backend.open_weights(weights, opened); };
    LAZYRT_RETURN_IF_ERROR(
        program_->shared.find_or_make(&backend, open, backend.close_weights, &options.weights));
  }
  slot->program = options.weights;
  if (backend.open == nullptr) return {};
  return backend.open(options, &slot->services).with_context("backend %s", backend.name);
}

/// Keeps the refusal, so that a missing driver is not looked for again at each node.
Fault BackendServices::keep_refusal(Fault refusal, Slot* slot) {
  FirstFault why;
  why.add(refusal);
  const Allocator& allocator = memory_->allocator();
  void* memory = allocator.allocate(allocator.context, sizeof(FirstFault), 16);
  if (memory == nullptr) return Fault(Error::kOutOfMemory, "no memory for a session");
  slot->refusal = new (memory) FirstFault(why);
  slots_[count_++] = *slot;
  return why;
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
    if (slot.refusal != nullptr)
      memory_->allocator().release(memory_->allocator().context, slot.refusal);
  }
}

}  // namespace lazyrt
