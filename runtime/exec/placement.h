#pragma once

// In which memory each value is when, and the copies that this takes.

#include "runtime/core/pool.h"
#include "runtime/op/op_def.h"

namespace lazyrt {

/// Spaces by number: the host's, then each open backend's.
constexpr int kHostSpace = 0;
constexpr int space_of_slot(int slot) { return slot + 1; }
constexpr int slot_of_space(int space) { return space - 1; }

/// A step of a run before it has memory.
struct PlannedStep {
  enum class Kind : uint8_t {
    kNode,     ///< `index` is a node, run by its kernel
    kSegment,  ///< `index` is the first node of a segment
    kCopyIn,   ///< `index` is a value: from the host to `space`
    kCopyOut,  ///< from `space` to the host
    /// As kCopyOut, but to a place beside the arena: what a guard sees once all has run.
    kSnapshot,
    kCopyState,  ///< `index` is a state, which becomes its next within `space`
    kFlush,      ///< the device of `space` begins what is queued
    kWait,       ///< the host waits for it
  };
  Kind kind = Kind::kNode;
  uint8_t space = kHostSpace;
  bool for_outputs = false;  ///< a copy that only the method's outputs need
  uint32_t index = 0;
  uint32_t first_line = 0;  ///< nodes and copies before it

  bool is_copy() const {
    return kind == Kind::kCopyIn || kind == Kind::kCopyOut || kind == Kind::kSnapshot;
  }
};

/// Where a value is.
struct ValuePlaces {
  uint8_t spaces = 0;        ///< a bit for each space that it is in
  bool host_always = false;  ///< the host has its bytes wherever it is made
};

/// Lists the steps, and the copies between them. Called for everything twice: to count, and to
/// fill.
class Placement {
 public:
  /// `values`: where each is before the first step. It is changed. `steps` may be nullptr: only
  /// counted.
  Placement(Span<ValuePlaces> values, PlannedStep* steps) : values_(values), steps_(steps) {}

  /// A value, or -1, is needed there by the step that comes next.
  void need(int32_t value, uint8_t space);
  /// The step that comes next makes it.
  void make(int32_t value, uint8_t space);
  /// A step of `nodes` nodes. REQUIRES: need and make were called for all of them in their order.
  /// So what a node of a segment needs from elsewhere is copied before the segment.
  void add(PlannedStep::Kind kind, uint8_t space, uint32_t index, uint32_t nodes);
  /// The value in that space is kept as it is now, for a guard.
  void keep(int32_t value, uint8_t space) { copy(PlannedStep::Kind::kSnapshot, value, space); }
  /// The state, which lives in that space, becomes its next.
  void keep_state(uint32_t state, uint8_t space) {
    push(PlannedStep::Kind::kCopyState, space, state, 0);
  }
  /// The host is about to read what was copied to it.
  void await();
  /// What is needed from now on only outputs need.
  void begin_outputs() { for_outputs_ = true; }

  size_t step_count() const { return count_; }
  size_t line_count() const { return lines_; }

 private:
  bool has(int32_t value, uint8_t space) const {
    return (values_[static_cast<size_t>(value)].spaces >> space & 1) != 0;
  }
  void copy(PlannedStep::Kind kind, int32_t value, uint8_t space);
  void push(PlannedStep::Kind kind, uint8_t space, uint32_t index, uint32_t lines);
  void push_for_each(PlannedStep::Kind kind, uint8_t spaces);

  Span<ValuePlaces> values_;
  PlannedStep* steps_;
  bool for_outputs_ = false;
  size_t count_ = 0;
  uint32_t lines_ = 0;
  uint8_t queued_ = 0;  ///< spaces whose devices may not have begun their work
  uint8_t unread_ = 0;  ///< spaces from which copies to the host are not known to have ended
};

}  // namespace lazyrt
