#pragma once

// One capture of a TorchScript module, on one sample and in one phase.

#include <torch/csrc/jit/api/module.h>

#include <string>
#include <vector>

#include "host_tracer/frontends/torchscript/script_module.h"
#include "host_tracer/frontends/torchscript/torchscript.h"
#include "host_tracer/support/outcome.h"

namespace lazyrt {

struct ScriptCapture {
  Outcome<Trace> trace = Failure();
  std::string interface;  ///< see TorchScriptOptions; empty if not asked for
  /// Numbers among the attributes that change from call to call and are not states yet (see
  /// ScriptState). Only in a phase; otherwise they have become states.
  std::vector<std::string> changing_numbers;
  std::vector<std::string> steering_numbers;  ///< states on which the program's path depends
  bool changes_form = false;                  ///< some attribute: see ScriptState::changing_forms()
};

/// Captures `module`, which is `file` or, in a phase, a copy of it. `varying`: see CaptureRequest.
/// May throw c10::Error, a c10::ValueError if options.inputs do not fit forward.
ScriptCapture capture_script(const torch::jit::Module& file, ScriptModule module,
                             const TorchScriptOptions& options,
                             const std::vector<std::string>& varying = {});

}  // namespace lazyrt
