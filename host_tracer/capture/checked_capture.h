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
  std::vector<std::string> allow;  ///< findings that are warnings instead of errors: see allow.h
};

/// Captures `program`, runs it again on perturbed inputs where asked, and compares the two node by
/// node; where numbers leave the graph also with those numbers altered. Findings, syncs, guards and
/// states are in the trace, which is the first run's. A failure is the first run's or
/// before_trace's: findings are no failure, and exceptions of later runs are taken as another path
/// of the program (throw again in before_trace what must end it all, an interrupt).
/// The state of the CPU's default generator is put back at the end, not between the runs: random
/// numbers that the program draws by itself have to differ in order to be seen.
Outcome<Trace> capture_checked(const CaptureRequest& request, const CaptureProgram& program,
                               const CheckOptions& options = {});

}  // namespace lazyrt
