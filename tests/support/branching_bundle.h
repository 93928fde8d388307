#pragma once

#include "tests/support/tiny_bundle.h"

namespace lazyrt::test {

/// One method of three variants, of operators that tiny_ops and default_ops both have:
///   x f32[4,1], guard "bool(x[0] > 0)" true (model.py:12):   y = x + w;       count + 1
///   x f32[4,1], the same guard, false:                       y = relu(x) + w; count + 10
///   x f32[2,1], no guard:                                    y = x + x;       count stays
/// with w f32[4,1] = 1..4 and the state "count" f32[1,1], which begins as 5. Output "y". Each has a
/// sample. The guard's value is relu(x[0]).
BundleParts branching_bundle();
extern const float kBranchingUp[4];    ///< x of the first variant's sample
extern const float kBranchingDown[4];  ///< of the second's

}  // namespace lazyrt::test
