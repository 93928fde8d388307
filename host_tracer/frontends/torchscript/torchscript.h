#pragma once

// The TorchScript front end: reads what torch.jit.save wrote, traced or scripted, and captures its
// method "forward". Free of LibTorch types.

#include <optional>
#include <string>
#include <vector>

#include "host_tracer/frontends/shared/given_input.h"
#include "host_tracer/support/outcome.h"
#include "host_tracer/trace/trace.h"

namespace lazyrt {

/// inputs: one for each tensor of forward's arguments; a file holds no samples. Arguments of Python
/// numbers are given as numbers, and are fixed then.
struct TorchScriptOptions : FileOptions {
  bool second_trace = true;          ///< look for baked values by tracing perturbed inputs, too
  std::vector<std::string> allow;    ///< ids of findings that are warnings instead of errors
  std::string* interface = nullptr;  ///< gets the nesting of arguments and result, see shared/
  /// Gets the forms that attributes take in a row of calls on the first sample; captures on other
  /// samples, which get them here, fail if theirs differ. May be null.
  std::optional<std::string>* phases = nullptr;
};

/// Captures the program. Inputs are named by forward's arguments ("x", "h.0", "d.key"), outputs by
/// their place in the result ("out", "out.0", "out.key"), parameters and buffers by their attribute
/// path. Loops and branches follow the sample. Several traces: those of the phases (trace_phases.h)
/// of a program whose attributes change their form, the first call's first. kInvalidBundle: the
/// file; kInvalidArgument: options.inputs, with a list of what forward takes; kUnsupported: the
/// program.
Outcome<std::vector<Trace>> capture_torchscript(const std::string& path,
                                                const TorchScriptOptions& options);

}  // namespace lazyrt
