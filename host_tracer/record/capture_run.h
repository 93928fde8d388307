#pragma once

// One run of a program on the lazy device.

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "host_tracer/record/capture.h"
#include "host_tracer/record/capture_session.h"

namespace lazyrt {

/// This thread's turn to capture: only one thread of a process captures at a time, the others wait.
class CaptureTurn {
 public:
  CaptureTurn();

 private:
  std::unique_lock<std::mutex> lock_;
};

struct ProgramRun {
  std::optional<CapturedRun> run;  ///< empty when the run failed
  std::string error;               ///< why it failed
  bool ours =
      false;  ///< failed outside of the program: before_trace, a tensor that cannot be taken
  bool parted = false;   ///< failed because it is not the first run
  int64_t position = 0;  ///< calls recorded
  size_t syncs = 0;      ///< syncs logged
  /// The source of an operand that an earlier run left behind.
  std::optional<Source> reads_earlier;
  bool gradients = false;    ///< recorded with autograd on
  std::vector<Source> kept;  ///< CaptureRequest::keeps_nothing: see CaptureSession::kept_tensors()
};

/// Runs the program once; `script` is null for the first run. REQUIRES: a CaptureTurn, no other
/// session on this thread. Never throws.
ProgramRun run_program(const CaptureRequest& request, const CaptureProgram& program,
                       const RunScript* script);

}  // namespace lazyrt
