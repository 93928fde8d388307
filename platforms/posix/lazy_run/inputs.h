#pragma once

#include <string>
#include <vector>

#include "lazyrt/runtime.h"
#include "platforms/posix/lazy_run/npy.h"
#include "platforms/posix/lazy_run/options.h"

namespace lazyrt::run {

/// One tensor for each input of the method, from --input or --input-dir; checked and widened where
/// that is allowed. Throws a Failure that names the input. REQUIRES: options.has_inputs().
std::vector<HostTensor> read_inputs(const Method& method, const Options& options);

/// Inputs to measure with when there are neither files nor samples: f32 in [0, 1) from a fixed
/// seed, other dtypes 0.
std::vector<HostTensor> synthetic_inputs(const Method& method);

/// "x f32[1,3,224,224], mask bool[1,10]"
std::string describe_inputs(const Method& method);

}  // namespace lazyrt::run
