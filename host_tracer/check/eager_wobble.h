#pragma once

// How far the traces' own results, by ATen, move under rounding: in float64, without subnormal
// numbers, and when the inputs change in the last place.

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <string>
#include <vector>

#include "host_tracer/check/bound.h"
#include "host_tracer/compile/trace_groups.h"
#include "host_tracer/record/trace_eval.h"

namespace lazyrt {

/// A call since the last reset.
struct CheckedCall {
  std::vector<at::Tensor> inputs;
  size_t variant = 0;  ///< the program that the bundle took
};

/// Adds to `wobble` what another evaluation shows about a value; its inputs differ by `places` last
/// places.
void learn_from(const at::Tensor& plain, const at::Tensor& other, int places, Wobble& wobble);

/// Evaluates the last of a sequence of calls again and again.
class EagerWobble {
 public:
  /// `groups` are the variants of the bundle and must outlive this; `calls` begin after a reset.
  EagerWobble(const std::vector<TraceGroup>& groups, std::vector<CheckedCall> calls, uint64_t seed);

  /// Evaluates once more, the most informative evaluations first: the plain trace and one with
  /// last-place changes, the other one of that pair, without subnormal numbers, in float64. The
  /// wobble is then whole; further pairs follow, many of them if integers or truth values were seen
  /// to change. False: there is nothing more to learn.
  bool learn();

  /// Whether anything was learned.
  bool is_known() const { return stage_ > 0; }
  /// The wobble of output i, from what was learned so far.
  Wobble of(size_t output) const;
  /// The trace's own result in the program's precision; undefined where it cannot be evaluated.
  at::Tensor plain(size_t output) const;

  const CheckedCall& last() const { return calls_.back(); }
  const std::vector<std::string>& notes() const { return notes_; }

  /// The last call's run with all values, and the states before it.
  struct Values {
    std::vector<at::Tensor> states;
    std::vector<at::Tensor> plain;
    std::vector<at::Tensor> in_double;  ///< empty: not possible
  };
  Outcome<Values> values() const;

  /// All values of one more evaluation under rounding, and by how many last places its inputs
  /// differ.
  struct MovedValues {
    std::vector<at::Tensor> values;
    int places = 1;
  };
  /// Evaluations in float64, without subnormal numbers, and with last-place changes: those that are
  /// possible.
  std::vector<MovedValues> moved_values() const;

 private:
  Outcome<TraceRun> evaluate(const TraceEvalOptions& options, int nudge,
                             std::vector<at::Tensor>* states_before = nullptr) const;
  Outcome<TraceRun> evaluate_flushed(const TraceEvalOptions& options = {}) const;
  void add(const TraceRun& run, int places = 1);
  bool start();
  bool decisions_change() const;
  void learn_nudged(int nudge);
  void learn_in_double();

  const std::vector<TraceGroup>& groups_;
  std::vector<CheckedCall> calls_;
  uint64_t seed_;
  int stage_ = 0;
  std::vector<at::Tensor> plain_;
  std::vector<Wobble> wobbles_;
  std::vector<std::string> notes_;
};

}  // namespace lazyrt
