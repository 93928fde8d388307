#include "runtime/exec/session_states.h"

#include <cstring>

#include "runtime/exec/shared_memory.h"

namespace lazyrt {

SessionStates::SessionStates(const ProgramState& program, size_t method,
                             const BackendServices* services, Pool* pool)
    : program_(program), method_(program.method(method)), services_(services), pool_(pool) {
  for (size_t k = 0; k < count_of(method_.states()); ++k) {
    if (__builtin_add_overflow(bytes_, room_of(value(state(k).value()).bytes()), &bytes_))
      bytes_ = UINT64_MAX;
  }
}

Fault SessionStates::make() {
  const size_t count = count_of(method_.states());
  if (count == 0 || is_made()) return {};
  LAZYRT_RETURN_IF_ERROR(block_.make(bytes_, kAlignment, pool_->allocator(), "the states"));
  tables_ = pool_->make<Table>(count);
  places_ = pool_->make<uint8_t*>(count);
  if (pool_->is_short()) return no_memory_for_session();
  uint8_t* next = block_.data();
  for (size_t k = 0; k < count; ++k) {
    Table& table = tables_[k];
    const int32_t initial = state(k).initial();
    table.view = view_of(value(state(k).value()), next);
    if (initial >= 0) table.initial = program_.constant(value(initial));
    places_[k] = next;
    next += room_of(table.view.bytes());
  }
  return {};
}

void SessionStates::reset() {
  for (Table& table : tables_) {
    const size_t bytes = table.view.bytes();
    table.space = kHostSpace;
    table.is_on_host = true;
    if (bytes == 0) continue;
    if (table.initial == nullptr) {
      std::memset(table.view.data, 0, bytes);
    } else {
      std::memcpy(table.view.data, table.initial, bytes);
    }
  }
}

Fault SessionStates::make_in(int slot, CountedMemory* counted) {
  DeviceBlock& block = device_blocks_[slot];
  if (bytes_ == 0 || block.data() != nullptr) return {};
  LAZYRT_RETURN_IF_ERROR(
      block.make(services_->slot(slot), bytes_, counted).with_context("the states"));
  add_to(&device_bytes_, bytes_);
  return {};
}

Fault SessionStates::check_index(size_t i) const {
  if (i < places_.size()) return {};
  return Fault(Error::kInvalidArgument, "there is no state %zu, the method has %zu", i,
               places_.size());
}

Fault SessionStates::set(size_t i, const TensorView& tensor) {
  LAZYRT_RETURN_IF_ERROR(check_index(i));
  const TensorView& mine = tables_[i].view;
  if (tensor.dtype != mine.dtype || tensor.shape != mine.shape) {
    return Fault(Error::kInvalidArgument, "state '%.60s' takes %s%s, got %s%s",
                 text_of(state(i).name()), dtype_name(mine.dtype), shape_text(mine.shape).text,
                 dtype_name(tensor.dtype), shape_text(tensor.shape).text);
  }
  if (tensor.data == nullptr && mine.bytes() != 0)
    return Fault(Error::kInvalidArgument, "state '%.60s': data is null", text_of(state(i).name()));
  if (mine.bytes() != 0) std::memmove(mine.data, tensor.data, mine.bytes());
  changed(i, kHostSpace);
  return {};
}

Fault SessionStates::bring_to_host(size_t k) {
  Table& table = tables_[k];
  if (!kDevices || table.is_on_host) return {};
  const BackendServices::Slot& slot = services_->slot(slot_of_space(table.space));
  const Fault status =
      copy_out_now(slot, table.view.data, place_in(k, table.space), table.view.bytes());
  table.is_on_host = status.ok();
  return status;
}

Fault SessionStates::bring(size_t k, int space) {
  Table& table = tables_[k];
  if (table.view.bytes() == 0 || space == table.space) return {};
  LAZYRT_RETURN_IF_ERROR(bring_to_host(k));
  if (space != kHostSpace) {
    const BackendServices::Slot& slot = services_->slot(slot_of_space(space));
    LAZYRT_RETURN_IF_ERROR(slot.backend->device->copy_in(slot.services, place_in(k, space),
                                                         table.view.data, table.view.bytes()));
    table.space = static_cast<uint8_t>(space);
  }
  return {};
}

void SessionStates::changed(size_t k, int space) {
  tables_[k].space = static_cast<uint8_t>(space);
  tables_[k].is_on_host = space == kHostSpace;
}

Result<TensorView> SessionStates::view(size_t i) {
  LAZYRT_RETURN_IF_ERROR(check_index(i));
  const Fault status = bring_to_host(i);
  if (!status.ok()) return status.with_context("state '%.60s'", text_of(state(i).name()));
  return tables_[i].view;
}

}  // namespace lazyrt
