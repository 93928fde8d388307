#pragma once

// Capture, and the proof that nothing of the sample's values went into the graph.

#include <cstdint>
#include <string>
#include <vector>

#include "host_tracer/capture/capture.h"

namespace lazyrt {

struct CheckOptions {
  bool second_trace = true;        ///< false: one trace, float syncs stay unproven
  uint64_t seed = 1;               ///< of the perturbation
  int attempts = 4;                ///< how often it is made ten times smaller where the path parts
  std::vector<std::string> allow;  ///< ids of findings that are warnings instead of errors
};

/// Captures `program`, captures it again on perturbed inputs where asked, and compares the two
/// node by node. Findings, syncs, guards and states are in the trace, which is the first one.
/// A failure is the program's own or an unsupported call: findings are no failure.
Outcome<Trace> capture_checked(const CaptureRequest& request, const CaptureProgram& program,
                               const CheckOptions& options = {});

}  // namespace lazyrt
