#pragma once

// Where implementations of an operator round differently, as changes of operands and results by
// last places.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "host_tracer/trace/trace.h"

namespace lazyrt {

/// Changes for one evaluation of a trace, which it does not own. Sums of products (convolutions,
/// matrix products) are rounded as often as they have terms, in an order that the implementation
/// chooses: their operands and results move by more last places the more terms they have (Higham,
/// Accuracy and Stability of Numerical Algorithms, 3.1). The same holds for values that they scale
/// and shift by constants, because a bundle folds these into its weights and adds the products to
/// the bias. Sums of integers are exact and stay. Operators that choose among equal elements in no
/// defined order get an operand without equal elements.
class RoundingModel {
 public:
  /// `places`: for values that are rounded once; `mirrored` reverses every change.
  RoundingModel(const Trace& trace, int places, uint64_t seed, bool mirrored);

  /// A floating operand of the node, as another implementation might have it.
  at::Tensor operand(const TraceNode& node, TraceValueId id, const at::Tensor& t) const;
  /// A floating result.
  at::Tensor result(TraceValueId id, const at::Tensor& t) const;

 private:
  at::Tensor moved(TraceValueId id, const at::Tensor& t, double places) const;

  bool is_computed(TraceValueId id) const;
  /// The number of terms of the values that a node scales and shifts by constants; 0: it is not
  /// such a node.
  double scaled_terms(const TraceNode& node) const;

  const Trace& trace_;
  std::vector<double> terms_;  ///< by value: how many products each element sums; 0: none
  const int places_;
  const uint64_t seed_;
  const bool mirrored_;
};

}  // namespace lazyrt
