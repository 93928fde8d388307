#pragma once

// The backward operators that autograd calls where a program takes gradients, and the losses that
// it takes them of, written with operators that any trace may hold.

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <initializer_list>
#include <string>
#include <unordered_map>
#include <vector>

#include "host_tracer/record/shape_rules.h"

namespace lazyrt {

/// The results of a call; undefined where its output_mask says so.
using GradientFormula = std::vector<at::Tensor> (*)(const RuleArgs&);
using GradientFormulas = std::unordered_map<std::string, GradientFormula>;

/// By name without "aten::": of functions of one element, and of layers.
const GradientFormulas& pointwise_gradients();
const GradientFormulas& layer_gradients();
/// Losses, distances and bags of rows; layers, where gradients are recorded.
const GradientFormulas& loss_formulas();
const GradientFormulas& moment_formulas();
/// Other functions that have no operator of their own in a trace.
const GradientFormulas& composed_formulas();

/// A formula in float32 where it is given floats of a type in `narrow`, its results rounded once,
/// as some of eager's kernels do; the others round each step.
std::vector<at::Tensor> with_wide_floats(const RuleArgs& args, GradientFormula formula,
                                         std::initializer_list<at::ScalarType> narrow);
template <GradientFormula kFormula>
std::vector<at::Tensor> rounded_once(const RuleArgs& args) {
  return with_wide_floats(args, kFormula, {at::kHalf, at::kBFloat16});
}
template <GradientFormula kFormula>
std::vector<at::Tensor> rounded_once_in_bfloat16(const RuleArgs& args) {
  return with_wide_floats(args, kFormula, {at::kBFloat16});
}

}  // namespace lazyrt
