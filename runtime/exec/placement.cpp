#include "runtime/exec/placement.h"

namespace lazyrt {

void Placement::add(PlannedStep::Kind kind, uint8_t space, uint32_t index, uint32_t nodes) {
  if (steps_ != nullptr) steps_[count_] = {kind, space, for_outputs_, index, lines_};
  ++count_;
  lines_ += nodes;
}

void Placement::copy(PlannedStep::Kind kind, int32_t value, uint8_t space) {
  add(kind, space, static_cast<uint32_t>(value), 1);
  ++copies_;
  const uint8_t to = kind == PlannedStep::Kind::kCopyOut ? kHostSpace : space;
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
