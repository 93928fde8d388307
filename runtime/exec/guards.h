#pragma once

#include "runtime/bundle/program_state.h"
#include "runtime/core/pool.h"
#include "runtime/platform/threads.h"

namespace lazyrt {

/// The guards of one variant, in the order in which a run can check them.
class Guards {
 public:
  /// `late`: per node, whether guards of its results are checked only when everything has run;
  /// empty: none is. REQUIRES: called once; `pool` outlives this.
  Fault make(const fb::Method& method, Span<const bool> late, Pool* pool);
  size_t count() const { return entries_.size(); }
  bool are_some_late() const { return early_ != entries_.size(); }

  /// Checks the guards from *next on whose value exists once `node` has run (-1: before the first
  /// node), except the late ones, and moves *next behind them. Stops at a guard that does not hold
  /// and returns false. view(id) returns a value of the method.
  template <class View>
  bool hold(int32_t node, const View& view, size_t* next) {
    for (; *next != early_ && entries_[*next].after <= node; ++*next) {
      if (!holds(*next, view(entries_[*next].value))) return false;
    }
    return true;
  }
  /// Checks the late guards whose value exists before node `reached` runs.
  template <class View>
  bool hold_late(size_t reached, const View& view) {
    for (size_t i = early_; i != entries_.size(); ++i) {
      if (static_cast<size_t>(entries_[i].after) >= reached) return true;
      if (!holds(i, view(entries_[i].value))) return false;
    }
    return true;
  }
  /// Returns the node that made the value of the last broken guard, or -1.
  int32_t broken_after() const { return entries_[broken_].after; }
  /// Counts that one.
  void count_refusal() { add_to(&refusals_[entries_[broken_].guard], 1); }
  /// Why hold() last returned false, kGuardFailed: "bool(x.sum() > 0) was true when exported, now
  /// false (model.py:12)", or "this input fails a check of the model: assert n < 10 (model.py:12)".
  /// `texts`: a method with these guards.
  Fault why(const fb::Method& texts) const;
  /// Whether the broken guard is a check: why() then says what the model requires.
  bool is_failed_check() const { return entries_[broken_].check; }

  /// Continues with the counts of `other`. REQUIRES: the same guards.
  void continue_from(const Guards& other) {
    for (size_t i = 0; i < refusals_.size(); ++i) refusals_[i] = other.refusals_[i];
  }

  /// How often this guard of the method turned a run away. Also while another thread runs.
  uint64_t refusals(size_t guard) const;

 private:
  /// A guard without its texts.
  struct Entry {
    int32_t after = -1;  ///< the node that makes the value; -1: it is there from the start
    uint32_t guard = 0;  ///< its number in the method
    uint32_t value = 0;
    fb::GuardKind kind = fb::GuardKind::Equal;
    bool check = false;
    bool is_late = false;
    int64_t integer = 0;  ///< as seen at export
    double real = 0;
    double tolerance = 0;
  };
  /// What a guard sees of a value.
  struct Seen {
    bool is_real = false;
    DType dtype = DType::kNone;  ///< of the value
    int64_t integer = 0;
    double real = 0;
  };

  static Entry entry_of(const fb::Guard& guard);
  static Seen look_at(const Entry& guard, const TensorView& x);
  static bool agrees(const Entry& guard, const Seen& now);
  /// Notes why where it does not.
  bool holds(size_t entry, const TensorView& x);

  size_t early_ = 0;   ///< index in entries_ where the late guards begin
  size_t broken_ = 0;  ///< the entry that did not hold
  Seen now_;           ///< what it saw
  Span<Entry> entries_;
  Span<uint64_t> refusals_;  ///< per guard; atomic: written by the thread that runs, read by any
};

}  // namespace lazyrt
