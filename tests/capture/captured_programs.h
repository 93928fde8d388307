#pragma once

// Programs over ATen, captured with the check; free of LibTorch's types. Each trace has its sample,
// with the outputs that eager ATen gives.

#include <vector>

#include "host_tracer/trace/trace.h"

namespace lazyrt::test {

/// An early exit over x f32[rows,4]: y = linear(x, w); if y.mean() > 0: exp(-y) * 3 (model.py:7),
/// else linear(relu(y), w). `level` is what every element of x is.
Trace early_exit(int64_t rows, float level);

/// x f32[3] -> x * scale, where scale is a buffer that grows by 1 in each run, at first 5.
Trace growing_scale();

/// (x f32[3], start bool) -> x; a call that starts writes mean(|x|) into the buffer 'level', others
/// ask whether it is below 0.5, and give x / level where it is not.
Trace level_of_a_call(bool start);

}  // namespace lazyrt::test
