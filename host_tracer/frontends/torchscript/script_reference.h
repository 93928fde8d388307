#pragma once

#include <torch/csrc/jit/api/module.h>

#include <memory>

#include "host_tracer/capture/eager_reference.h"
#include "host_tracer/frontends/torchscript/script_inputs.h"

namespace lazyrt {

/// The module's own forward, by LibTorch's interpreter, on a copy of the module.
std::shared_ptr<const EagerReference> script_reference(const torch::jit::Module& module,
                                                       const ScriptInputs& inputs,
                                                       const Trace& trace);

}  // namespace lazyrt
