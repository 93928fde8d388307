#include "runtime/exec/state_memory.h"

#include <cstring>

namespace lazyrt {

StateMemory::StateMemory(const ProgramState& program, size_t method,
                         const BackendServices* services, Pool* pool)
    : program_(program), method_(program.method(method)), services_(services), pool_(pool) {
  for (size_t k = 0; k < count_of(method_.states()); ++k) {
    if (__builtin_add_overflow(bytes_, room_of(value(state(k).value()).bytes()), &bytes_))
      bytes_ = UINT64_MAX;
  }
}

Fault StateMemory::make() {
  const size_t count = count_of(method_.states());
  if (count == 0 || is_made()) return {};
  tables_ = pool_->make<Table>(count);
  offsets_ = pool_->make<uint64_t>(count);
  if (pool_->is_short()) return no_memory_for_session();
  uint64_t next = 0;
  for (size_t k = 0; k < count; ++k) {
    Table& table = tables_[k];
    const int32_t initial = state(k).initial();
    table.view = view_of(value(state(k).value()), nullptr);
    if (initial >= 0) table.initial = program_.constant(value(initial));
    offsets_[k] = next;
    next += room_of(table.view.bytes());
  }
  return {};
}

Fault StateMemory::make_on_host() {
  if (on_host_ != nullptr || tables_.empty()) return {};
  LAZYRT_RETURN_IF_ERROR(block_.make(bytes_, kAlignment, pool_->allocator(), "the states"));
  on_host_ = block_.data();
  set_counter(&host_bytes_, bytes_);
  return {};
}

/// REQUIRES: it has a place there.
void StateMemory::begin_on_host(size_t k) {
  Table& table = tables_[k];
  const size_t bytes = table.view.bytes();
  changed(k, kHostSpace);
  if (bytes == 0) return;
  uint8_t* place = place_in(k, kHostSpace);
  if (table.initial == nullptr) {
    std::memset(place, 0, bytes);
  } else {
    std::memcpy(place, table.initial, bytes);
  }
}

void StateMemory::reset() {
  for (size_t k = 0; k < tables_.size(); ++k) {
    tables_[k].is_first = true;
    if (on_host_ != nullptr) {
      begin_on_host(k);
    } else {
      were_elsewhere_ = true;
    }
  }
}

Fault StateMemory::make_in(int slot, CountedMemory* counted) {
  DeviceBlock& block = device_blocks_[slot];
  if (bytes_ == 0 || block.data() != nullptr) return {};
  LAZYRT_RETURN_IF_ERROR(
      block.make(services_->slot(slot), bytes_, counted).with_context("the states"));
  add_to(&device_bytes_, bytes_);
  if (on_host_ != nullptr || block.host() == nullptr) return {};
  on_host_ = block.host();
  mapped_ = static_cast<uint8_t>(space_of_slot(slot));
  return {};
}

Fault StateMemory::check_index(size_t i) const {
  if (i < tables_.size()) return {};
  return Fault(Error::kInvalidArgument, "there is no state %zu, the method has %zu", i,
               tables_.size());
}

Fault StateMemory::set(size_t i, const TensorView& tensor) {
  LAZYRT_RETURN_IF_ERROR(check_index(i));
  const TensorView& mine = tables_[i].view;
  if (tensor.dtype != mine.dtype || tensor.shape != mine.shape) {
    return Fault(Error::kInvalidArgument, "state '%.60s' takes %s%s, got %s%s",
                 text_of(state(i).name()), dtype_name(mine.dtype), shape_text(mine.shape).text,
                 dtype_name(tensor.dtype), shape_text(tensor.shape).text);
  }
  if (tensor.data == nullptr && mine.bytes() != 0)
    return Fault(Error::kInvalidArgument, "state '%.60s': data is null", text_of(state(i).name()));
  LAZYRT_RETURN_IF_ERROR(make_on_host());
  if (mine.bytes() != 0) std::memmove(place_in(i, kHostSpace), tensor.data, mine.bytes());
  changed(i, kHostSpace);
  return {};
}

Fault StateMemory::bring_to_host(size_t k) {
  Table& table = tables_[k];
  if (table.is_on_host) return {};
  LAZYRT_RETURN_IF_ERROR(make_on_host());
  if (table.is_first) {
    begin_on_host(k);
    return {};
  }
  if (!kDevices) return {};
  const Fault status =
      copy_out_now(services_->slot(slot_of_space(table.space)), place_in(k, kHostSpace),
                   place_in(k, table.space), table.view.bytes());
  table.is_on_host = status.ok();
  return status;
}

Fault StateMemory::bring(size_t k, int space) {
  Table& table = tables_[k];
  if (kDevices && space == mapped_) space = kHostSpace;
  if (table.view.bytes() == 0 || (space == table.space && !table.is_first)) return {};
  if (!table.is_first || space == kHostSpace) LAZYRT_RETURN_IF_ERROR(bring_to_host(k));
  if (!kDevices || space == kHostSpace) return {};
  const void* from = table.is_first ? table.initial : place_in(k, kHostSpace);
  const BackendServices::Slot& slot = services_->slot(slot_of_space(space));
  LAZYRT_RETURN_IF_ERROR(
      slot.backend->device->copy_in(slot.services, place_in(k, space), from, table.view.bytes()));
  table.space = static_cast<uint8_t>(space);
  table.is_first = false;
  table.is_brought = true;
  were_elsewhere_ = true;
  return {};
}

void StateMemory::forget_brought() {
  for (Table& table : tables_) {
    if (!table.is_brought) continue;
    table.is_brought = false;
    table.is_first = !table.is_on_host;
    table.space = kHostSpace;
  }
}

void StateMemory::changed(size_t k, int space) {
  if (kDevices && space == mapped_) space = kHostSpace;
  tables_[k].space = static_cast<uint8_t>(space);
  tables_[k].is_on_host = space == kHostSpace;
  were_elsewhere_ = were_elsewhere_ || space != kHostSpace;
  tables_[k].is_first = tables_[k].is_brought = false;
}

Result<TensorView> StateMemory::view(size_t i) {
  LAZYRT_RETURN_IF_ERROR(check_index(i));
  const Fault status = bring_to_host(i);
  if (!status.ok()) return status.with_context("state '%.60s'", text_of(state(i).name()));
  TensorView view = tables_[i].view;
  view.data = place_in(i, kHostSpace);
  return view;
}

}  // namespace lazyrt
