#pragma once

// Values that depend on constants alone, computed while a trace is imported.

#include <optional>
#include <vector>

#include "host_tracer/aten/scalar.h"
#include "host_tracer/graph/graph.h"

namespace lazyrt {

/// The elements of a constant.
std::vector<Scalar> scalar_elements(const Value& constant);

/// Returns the elements of a value that is computed from constants alone, by the reference kernels.
/// Nothing if it depends on an input, or if a node cannot be evaluated.
std::optional<std::vector<Scalar>> static_elements(const Graph& graph, ValueId value);

}  // namespace lazyrt
