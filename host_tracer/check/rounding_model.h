#pragma once

// Where implementations of an operator round differently, as changes of operands and results by
// last places.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "host_tracer/trace/trace.h"

namespace lazyrt {

/// Changes for one evaluation of a trace, which it does not own. Sums of products (convolutions,
/// matrix products) are rounded as often as they have terms, in an order that is the
/// implementation's choice: their operands and results move by more last places the more terms they
/// have (Higham, Accuracy and Stability of Numerical Algorithms, 3.1), and so does what scales and
/// shifts them by constants: a bundle folds that into their weights and adds the products to the
/// bias. Sums of whole numbers are exact and stay. Operators that choose among equal elements in no
/// order of their own have their operand loosened.
class RoundingModel {
 public:
  /// `places`: of what is rounded once; `mirrored` turns every change round.
  RoundingModel(const Trace& trace, int places, uint64_t seed, bool mirrored);

  /// A floating operand of the node, as this implementation would have it.
  at::Tensor operand(const TraceNode& node, TraceValueId id, const at::Tensor& t) const;
  /// A floating result.
  at::Tensor result(TraceValueId id, const at::Tensor& t) const;

 private:
  at::Tensor moved(TraceValueId id, const at::Tensor& t, double places) const;

  bool is_computed(TraceValueId id) const;
  /// Of the values that a node scales and shifts by constants; 0: no such node.
  double scaled_terms(const TraceNode& node) const;

  const Trace& trace_;
  std::vector<double> terms_;  ///< by value: how many products each element sums; 0: none
  const int places_;
  const uint64_t seed_;
  const bool mirrored_;
};

}  // namespace lazyrt
