#pragma once

// What tells the graphs of a program at one size and at another apart.

#include <optional>
#include <set>
#include <string>

#include "host_tracer/dynamic/ranges.h"
#include "host_tracer/graph/graph.h"

namespace lazyrt {

/// The graph's structure with what attributes have beside numbers (functions, flags), and at the
/// places, as of Source::text, their numbers and the nodes' small constants, too; at the place ""
/// also small constants that are results or what states become.
SizePath path_of(const Graph& graph, const std::set<std::string>& places);

/// The first node by which two graphs that should compute the same differ: in structure, in
/// attributes, in constants up to 1 MiB, in what guards hold; no place where results or guards do.
/// Real numbers within 1e-5 of each other do not count, nor does it whether a constant repeats what
/// the other one broadcasts.
std::optional<Source> find_difference(const Graph& a, const Graph& b);

}  // namespace lazyrt
