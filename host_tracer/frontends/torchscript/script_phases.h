#pragma once

// Modules whose attributes take several forms in a row of calls (None or a tensor, another shape,
// another length, a flag): each form is a phase, which is captured by itself. The tensors are
// states.

#include <torch/csrc/jit/api/module.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "host_tracer/frontends/torchscript/script_capture.h"
#include "host_tracer/frontends/torchscript/script_module.h"
#include "host_tracer/support/outcome.h"
#include "host_tracer/trace/trace.h"

namespace lazyrt {

struct PhasesRequest {
  /// The module as it is in the file.
  torch::jit::Module file;
  /// Calls a copy of it on the sample, by LibTorch.
  std::function<void(const torch::jit::Module& module)> call;
  /// Captures a call on the sample. `varying`: see CaptureRequest.
  std::function<ScriptCapture(ScriptModule module, const std::vector<std::string>& varying)>
      capture;
  /// Numbers on which the program's path depends: they do not become states.
  std::vector<std::string> steering;
};

struct PhasesCapture {
  std::vector<Trace> traces;  ///< phase 0 first; one alone if later calls compute the same
  /// Equal for samples that may be in one bundle.
  std::string summary;
};

/// Captures the module in each of its phases. kUnsupported: they come to no end, which names the
/// attributes that keep changing, or a call fails. May throw c10::Error.
Outcome<PhasesCapture> capture_phases(const PhasesRequest& request);

}  // namespace lazyrt
