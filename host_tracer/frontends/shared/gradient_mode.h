#pragma once

#include <ATen/core/ivalue.h>

#include <functional>
#include <optional>
#include <vector>

#include "host_tracer/record/capture.h"

namespace lazyrt {

/// An error where eager gives other results with gradients being recorded than under no_grad, which
/// is how a bundle's program is run. Tried on the inputs and on a few others near them and far from
/// them. `run` begins from the program's first state each time; where it throws nothing is found.
std::optional<Finding> find_gradient_mode(
    const std::vector<NamedTensor>& inputs,
    const std::function<c10::IValue(const std::vector<at::Tensor>&)>& run);

}  // namespace lazyrt
