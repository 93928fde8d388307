#pragma once

// Capture, and a second run that checks that none of the sample's values went into the graph
// unseen.

#include <cstdint>
#include <string>
#include <vector>

#include "host_tracer/record/capture.h"

namespace lazyrt {

struct CheckOptions {
  bool second_trace = true;        ///< false: one trace alone
  uint64_t seed = 1;               ///< of the perturbation
  std::vector<std::string> allow;  ///< findings that are warnings instead of errors: see allow.h
};

/// Captures `program`. Each value that leaves the graph for it is guarded there; a floating one,
/// for which a guard is of no use, is an error. A second run on perturbed inputs gets the first
/// run's values wherever one leaves: what differs there all the same came another way, and is an
/// error. Findings, syncs, guards and states are in the trace, which is the first run's. A failure
/// is the first run's or before_trace's: findings are no failure, and exceptions of the second run
/// are taken as another path of the program (throw again in before_trace what must end it all, an
/// interrupt). The state of the CPU's default generator is put back at the end, not between the
/// runs: random numbers that the program draws by itself have to differ in order to be seen.
Outcome<Trace> capture_checked(const CaptureRequest& request, const CaptureProgram& program,
                               const CheckOptions& options = {});

}  // namespace lazyrt
