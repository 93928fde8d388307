#pragma once

#include <torch/csrc/jit/api/module.h>

#include <memory>

#include "host_tracer/frontends/torchscript/script_inputs.h"
#include "host_tracer/trace/eager_reference.h"

namespace lazyrt {

/// A copy whose parameters require gradients where the module's do.
torch::jit::Module copy_of(const torch::jit::Module& module);

/// Calls the module, with its hooks, by LibTorch's own interpreter, and lets it change its
/// attributes.
c10::IValue run_in_eager(const torch::jit::Module& module, std::vector<c10::IValue> arguments);

/// The module's own forward, by LibTorch's interpreter, on a copy of the module.
std::shared_ptr<const EagerReference> script_reference(const torch::jit::Module& module,
                                                       const ScriptInputs& inputs,
                                                       const Trace& trace);

}  // namespace lazyrt
