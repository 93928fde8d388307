#pragma once

#include "runtime/bundle/program_state.h"
#include "runtime/core/array.h"

namespace lazyrt {

/// True for the failure of a guard that is a check: its message tells what the model wants.
bool is_failed_check(const Status& status);

/// The guards of one variant, in the order in which a run can check them.
class Guards {
 public:
  /// REQUIRES: called once; the method outlives this.
  Status make(const fb::Method& method, const Allocator& allocator);

  /// Checks those from *next on whose value is there once `node` has run (-1: before the first one)
  /// and moves *next behind them. kGuardFailed: "bool(x.sum() > 0) was true when exported, now
  /// false (model.py:12)", or "this input fails a check of the model: assert n < 10 (model.py:12)".
  /// `values` are the method's, by id.
  Status check(int32_t node, const TensorView* values, size_t* next) {
    if (*next == entries_.size() || entries_[*next].after > node) return {};
    return check_due(node, values, next);
  }

  /// Goes on counting from there. REQUIRES: the same guards.
  void continue_from(const Guards& other) {
    for (size_t i = 0; i < refusals_.size(); ++i) refusals_[i] = other.refusals_[i];
  }

  /// How often check() found this guard of the method broken. Also while another thread runs.
  uint64_t refusals(size_t guard) const;

 private:
  struct Entry {
    int32_t after = -1;  ///< the node that makes the value; -1: it is there from the start
    uint32_t guard = 0;
  };

  Status check_due(int32_t node, const TensorView* values, size_t* next);

  const fb::Method* method_ = nullptr;
  Array<Entry> entries_;
  Array<uint64_t> refusals_;  ///< per guard; atomic: written by the thread that runs, read by any
};

}  // namespace lazyrt
