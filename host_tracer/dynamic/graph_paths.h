#pragma once

// Tells graphs of one program at different sizes apart.

#include <optional>
#include <set>
#include <string>

#include "host_tracer/dynamic/ranges.h"
#include "host_tracer/graph/graph.h"

namespace lazyrt {

/// The graph's structure, with what attributes hold besides numbers (functions, flags). At the
/// given places (as of Source::text) also their numbers and the nodes' small constants; at the
/// place "" also small constants that are results or next values of states.
SizePath path_of(const Graph& graph, const std::set<std::string>& places);

/// The first node at which two graphs that should compute the same differ: in structure, in
/// attributes, in constants up to 1 MiB, or in what guards expect; without a place if results or
/// guards differ. Real numbers within 1e-5 of each other count as equal, and so do a constant that
/// repeats elements and one that broadcasts them.
std::optional<Source> find_difference(const Graph& a, const Graph& b);

}  // namespace lazyrt
