#include "runtime/exec/placement.h"

namespace lazyrt {

void Placement::push(PlannedStep::Kind kind, uint8_t space, uint32_t index, uint32_t lines) {
  if (steps_ != nullptr) steps_[count_] = {kind, space, for_outputs_, index, lines_};
  ++count_;
  lines_ += lines;
  if (lines != 0 && space != kHostSpace) queued_ |= static_cast<uint8_t>(1 << space);
}

void Placement::push_for_each(PlannedStep::Kind kind, uint8_t spaces) {
  for (uint8_t space = 0; spaces >> space != 0; ++space) {
    if ((spaces >> space & 1) != 0) push(kind, space, 0, 0);
  }
  queued_ &= static_cast<uint8_t>(~spaces);
}

void Placement::await() {
  push_for_each(PlannedStep::Kind::kWait, unread_);
  unread_ = 0;
}

void Placement::add(PlannedStep::Kind kind, uint8_t space, uint32_t index, uint32_t nodes) {
  if (space == kHostSpace && (unread_ | queued_) != 0) {
    await();
    push_for_each(PlannedStep::Kind::kFlush, queued_);
  }
  push(kind, space, index, nodes);
}

void Placement::copy(PlannedStep::Kind kind, int32_t value, uint8_t space) {
  if (kind == PlannedStep::Kind::kCopyIn && unread_ != 0) await();
  push(kind, space, static_cast<uint32_t>(value), 1);
  if (kind == PlannedStep::Kind::kSnapshot) return;
  const bool is_out = kind == PlannedStep::Kind::kCopyOut;
  if (is_out) unread_ |= static_cast<uint8_t>(1 << space);
  const uint8_t to = is_out ? kHostSpace : space;
  values_[static_cast<size_t>(value)].spaces |= static_cast<uint8_t>(1 << to);
}

void Placement::need(int32_t value, uint8_t space) {
  if (value < 0 || has(value, space)) return;
  if (!has(value, kHostSpace)) {
    uint8_t from = 1;
    while (!has(value, from)) ++from;
    copy(PlannedStep::Kind::kCopyOut, value, from);
  }
  if (space != kHostSpace) copy(PlannedStep::Kind::kCopyIn, value, space);
}

void Placement::make(int32_t value, uint8_t space) {
  ValuePlaces& places = values_[static_cast<size_t>(value)];
  places.spaces = static_cast<uint8_t>(1 << space | (places.host_always ? 1 << kHostSpace : 0));
}

}  // namespace lazyrt
