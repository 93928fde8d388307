#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lazyrt/runtime.h"
#include "platforms/posix/lazy_run/npy.h"
#include "platforms/posix/lazy_run/options.h"

namespace lazyrt::run {

/// Inputs by their index that a run sets; the others stay as the run before had them.
using InputsOfRun = std::vector<std::pair<size_t, HostTensor>>;

/// The inputs of each run, from --input (given several times: one file for each run) or
/// --input-dir; checked and widened where that is allowed. The first run has all inputs. Throws a
/// Failure that names the input. REQUIRES: options.has_inputs().
std::vector<InputsOfRun> read_inputs(const Method& method, const Options& options);

/// Inputs to measure with when there are neither files nor samples: f32 in [0, 1) from a fixed
/// seed, other dtypes 0.
std::vector<HostTensor> synthetic_inputs(const Method& method);

/// "x f32[1,3,224,224], mask bool[1,10]"
std::string describe_inputs(const Method& method);

}  // namespace lazyrt::run
