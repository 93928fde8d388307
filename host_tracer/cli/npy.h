#pragma once

#include <string>

#include "host_tracer/support/outcome.h"
#include "host_tracer/trace/trace.h"

namespace lazyrt {

/// Reads a NumPy .npy file as lazy-run does (platforms/posix/lazy_run/npy.h). kNotFound / kIo: the
/// file; kInvalidArgument: not a .npy file, damaged, or a dtype that LazyRT has not.
Outcome<SampleTensor> read_npy(const std::string& path);

}  // namespace lazyrt
