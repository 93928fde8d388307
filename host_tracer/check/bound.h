#pragma once

// How far a result of the bundle may be from the program's, element by element.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace lazyrt {

/// How the program's own result changes when nothing of importance changes. Empty: not known, or
/// not asked for.
struct Wobble {
  at::Tensor size;               ///< f64, of the result's shape: the `s` in bound_of
  std::vector<at::Tensor> seen;  ///< the results themselves, floating ones as f64
  /// False: more evaluations follow in any case. Until then results are compared with a bound that
  /// no later evaluation narrows, so a result that passes now would pass after them, too.
  bool whole = true;
};

struct Comparison {
  bool ok = true;
  int64_t over = 0;       ///< elements beyond their bound
  int64_t undecided = 0;  ///< elements that differ from eager's where rounding changes eager's own
  double max_absolute = 0;  ///< largest error of those compared
  double max_value = 0;     ///< largest finite |eager's|
  double of_bound = 0;      ///< largest error over its bound
  std::string worst;        ///< "element [0,3] is 1.5, eager's 1.25", of the largest of_bound
};

/// For each element, the largest |x| (f64) in its channel, broadcast over x. A channel has one
/// index in dim 1 (with at least three dims: images), or one index in the last dim (tokens, rows);
/// the smaller of both maxima counts. A channel of fewer than 16 elements says nothing: then the
/// whole tensor is used. NaN and infinities do not count.
at::Tensor channel_maximum(const at::Tensor& x);

/// By how many times eager's own rounding the bundle's result may differ.
inline constexpr int kOfWobble = 8;

/// 1e-5 of each element + 1e-6 of its channel's largest + 8 s. s is the element's wobble, but at
/// least as large as 19 of 20 in its channel (of those that are not 0, once the wobble is `whole`):
/// a single element may stay where it is by luck.
at::Tensor bound_of(const at::Tensor& eager, const at::Tensor& wobble, bool whole = true);

/// Floating results against bound_of, NaN and infinities against their likes; integers and truth
/// values exactly. Where the program's own result jumps (another integer; finite or not) ours has
/// to be one that was seen there, or lie among them; where its rows change places, ours may do so
/// too. REQUIRES: equal shapes and dtypes.
Comparison compare_results(const at::Tensor& ours, const at::Tensor& eager, const Wobble& wobble);

}  // namespace lazyrt
