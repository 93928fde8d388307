#pragma once

// In which memory each value is at each step, and the copies that this requires.

#include "runtime/core/pool.h"
#include "runtime/op/op_def.h"

namespace lazyrt {

/// Memory spaces by number: the host's, then one for each open backend.
constexpr int kHostSpace = 0;
constexpr int space_of_slot(int slot) { return slot + 1; }
constexpr int slot_of_space(int space) { return space - 1; }

/// A step of a run before it has memory.
struct PlannedStep {
  enum class Kind : uint8_t {
    kNode,     ///< `index` is a node, run by its kernel
    kSegment,  ///< `index` is the first node of a segment
    kCopyIn,   ///< `index` is a value that is copied from the host to `space`
    kCopyOut,  ///< from `space` to the host
    /// As kCopyOut, but to a place outside of the arena: a value that a guard reads once everything
    /// has run.
    kSnapshot,
    kCopyState,  ///< `index` is a state, which becomes its next within `space`
    kFlush,      ///< the device of `space` begins the queued work
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
  bool host_always = false;  ///< the host has its bytes, wherever it is made
};

/// Lists the steps and the copies between them. All calls are made twice: first to count the steps,
/// then to fill them in.
class Placement {
 public:
  /// `values`: where each value is before the first step; it is changed. If `steps` is nullptr, the
  /// steps are only counted.
  Placement(Span<ValuePlaces> values, PlannedStep* steps) : values_(values), steps_(steps) {}

  /// The next step needs this value (or -1: none) in that space.
  void need(int32_t value, uint8_t space);
  /// The step that comes next makes it.
  void make(int32_t value, uint8_t space);
  /// Adds a step of `nodes` nodes. REQUIRES: need and make were called for all of them in order. So
  /// what any node of a segment needs from elsewhere is copied before the segment.
  void add(PlannedStep::Kind kind, uint8_t space, uint32_t index, uint32_t nodes);
  /// Keeps the current value in that space for a guard.
  void keep(int32_t value, uint8_t space) { copy(PlannedStep::Kind::kSnapshot, value, space); }
  /// Gives the state, which lives in that space, its next value.
  void keep_state(uint32_t state, uint8_t space) {
    push(PlannedStep::Kind::kCopyState, space, state, 0);
  }
  /// The host is about to read what was copied to it: waits.
  void await();
  /// From now on, values are needed for outputs only.
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
  uint8_t unread_ = 0;  ///< spaces whose copies to the host may not have ended
};

}  // namespace lazyrt
