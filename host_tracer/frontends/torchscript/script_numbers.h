#pragma once

// The whole numbers that a module's code and attributes hold, with which it may compare sizes.

#include <torch/csrc/jit/api/module.h>

#include <cstdint>
#include <vector>

namespace lazyrt {

/// Those that its code names (in any method, and in the functions and classes that these call),
/// then the others that lie in attributes of the module, extents of tensors among them. See
/// EagerReference::numbers.
std::vector<std::vector<int64_t>> numbers_in(const torch::jit::Module& module);

}  // namespace lazyrt
