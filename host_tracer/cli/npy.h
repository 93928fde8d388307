#pragma once

#include <string>

#include "host_tracer/capture/trace.h"
#include "host_tracer/support/outcome.h"

namespace lazyrt {

/// Reads a NumPy .npy file (format 1 to 3, little-endian, C or Fortran order; the result is
/// row-major). kNotFound / kIo: the file; kInvalidArgument: not a .npy file, damaged, or a dtype
/// that LazyRT has not.
Outcome<SampleTensor> read_npy(const std::string& path);

/// The same from the file's bytes; `name` goes into messages.
Outcome<SampleTensor> parse_npy(const std::string& bytes, const std::string& name);

}  // namespace lazyrt
