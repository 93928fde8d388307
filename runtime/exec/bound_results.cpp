// What a run of a BoundSession leaves behind: results where they are bound, and states.

#include <cstring>

#include "runtime/exec/bound_session.h"
#include "runtime/platform/threads.h"

namespace lazyrt {

/// Calls keep(k, place, next) for each state that lives on a device, or on the host, and whose next
/// value is elsewhere. Nothing reads a state after the nodes have run, and no state is another's
/// next value, so the order does not matter.
template <class Keep>
Fault BoundSession::for_each_next(const SessionVariant& variant, bool on_host, const Keep& keep) {
  StateMemory& states = *base_.states;
  for (size_t k = 0; k < states.count(); ++k) {
    const int home = kDevices ? homes_[k] : kHostSpace;
    if ((home == kHostSpace) != on_host) continue;
    const TensorView next = variant.next_of_state(k);
    uint8_t* place = states.place_in(k, home);
    if (next.data == place || next.bytes() == 0) continue;
    LAZYRT_RETURN_IF_ERROR(keep(home, place, next));
    states.changed(k, home);
  }
  return {};
}

/// Writes results to where they are bound, and states. Waits for devices, which may fail, before
/// the host's states change.
Fault BoundSession::keep_results(const SessionVariant& variant) {
  uint32_t spaces = 0;
  Fault status = copy_outputs(variant, &spaces);
  if (kDevices && (has_homes_ || spaces != 0)) status = end_in_spaces(variant, spaces, status);
  LAZYRT_RETURN_IF_ERROR(status);
  return for_each_next(variant, true, [](int, uint8_t* place, const TensorView& next) {
    std::memcpy(place, next.data, next.bytes());
    return Fault();
  });
}

Fault BoundSession::end_in_spaces(const SessionVariant& variant, uint32_t spaces,
                                  const Fault& status) {
  FirstFault first;
  first.add(status);
  if (first.ok()) first.add(keep_states_in_spaces(variant, &spaces));
  first.add(wait_for(spaces));
  return first;
}

Fault BoundSession::keep_states_in_spaces(const SessionVariant& variant, uint32_t* spaces) {
  const auto keep = [&](int home, uint8_t* place, const TensorView& next) {
    if (variant.keeps_states()) return Fault();
    const BackendServices::Slot& slot = base_.services->slot(slot_of_space(home));
    *spaces |= 1U << home;
    return slot.backend->device->copy(slot.services, place, next.data, next.bytes());
  };
  return for_each_next(variant, false, keep).with_context("the states");
}

Fault BoundSession::wait_for(uint32_t spaces) const {
  FirstFault first;
  for (int slot = 0; slot < kDeviceSlots; ++slot) {
    if ((spaces >> space_of_slot(slot) & 1) == 0) continue;
    const BackendServices::Slot& open = base_.services->slot(slot);
    size_t node = 0;
    first.add(open.backend->device->wait(open.services, &node));
  }
  return first;
}

Fault BoundSession::copy_output(const TensorView& view, const OutputBinding& to, uint32_t* spaces) {
  if (view.bytes() == 0) return {};
  if (!kDevices || to.space == kHostSpace) {
    std::memmove(to.data, view.data, view.bytes());  // it may be the very memory
    return {};
  }
  *spaces |= 1U << to.space;
  const BackendServices::Slot& slot = base_.services->slot(slot_of_space(to.space));
  return slot.backend->device->copy_in(slot.services, to.data, view.data, view.bytes());
}

/// Notes where each output is once the work in `spaces` is done.
Fault BoundSession::copy_outputs(const SessionVariant& variant, uint32_t* spaces) {
  const OutputBindings& outputs = *base_.outputs;
  const bool* in_place =
      in_place_.data() + static_cast<size_t>(&variant - variants_) * outputs.size();
  uint64_t copied = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const TensorView& view = variant.output(i);
    results_[i] = outputs[i].is_bound() ? outputs[i].data : view.data;
    if (!outputs[i].is_bound() || in_place[i]) continue;
    LAZYRT_RETURN_IF_ERROR(copy_output(view, outputs[i], spaces)
                               .with_context("output '%.60s'", output_name(method(), i)));
    copied += view.bytes();
  }
  set_counter(&output_copy_bytes_, copied);
  return {};
}

}  // namespace lazyrt
