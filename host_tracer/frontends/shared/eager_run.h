#pragma once

#include <ATen/core/ivalue.h>

#include <functional>
#include <string>
#include <vector>

#include "host_tracer/trace/eager_reference.h"

namespace lazyrt {

/// Runs `call` and returns its results, flattened under "out" (see flatten_outputs), or the text of
/// what it threw. `names` are the results' names at capture: if results are nested differently,
/// EagerRun::other_structure says so. Without `gradients` autograd is off.
EagerRun eager_run(const std::vector<std::string>& names, bool gradients,
                   const std::function<c10::IValue()>& call);

/// The same of results in a row, where those that are None are left out.
EagerRun eager_run_in_order(const std::function<std::vector<c10::IValue>()>& call);

/// Names of the trace's outputs.
std::vector<std::string> output_names(const Trace& trace);

/// CPU tensors of their own with the samples' values.
std::vector<at::Tensor> cloned_inputs(const std::vector<SampleTensor>& samples);

}  // namespace lazyrt
