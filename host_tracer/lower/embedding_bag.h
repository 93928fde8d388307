#pragma once

// Rows of a table, those of each bag taken together.

#include <ATen/core/Tensor.h>

#include <vector>

#include "host_tracer/record/shape_rules.h"

namespace lazyrt {

/// aten::_embedding_bag in operators that a trace may hold. Of its results only the first and the
/// sizes of the bags are eager's: the others are for its own backward pass.
std::vector<at::Tensor> embedding_bag(const RuleArgs& args);

}  // namespace lazyrt
