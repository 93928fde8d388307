#pragma once

#include <string>
#include <vector>

#include "host_tracer/capture/trace.h"
#include "host_tracer/report/summary.h"
#include "host_tracer/support/outcome.h"

namespace lazyrt {

/// Largest error that passes, over the output's largest absolute value.
constexpr double kCheckTolerance = 1e-4;

/// Runs the bundle on the cpu backend with the trace's sample inputs and compares with eager's
/// sample outputs, one line for each output. Fails where the bundle cannot be loaded or run.
/// REQUIRES: the trace has sample inputs and outputs.
Outcome<std::vector<CheckLine>> check_bundle(const std::string& path, const Trace& trace);

/// Compares one output element by element; NaN matches NaN, an infinity its equal.
CheckLine compare_output(const std::string& name, DType dtype, const void* ours, const void* eager,
                         int64_t numel);

}  // namespace lazyrt
