#pragma once

// Programs that pad or cut only where a size needs it (`if n % 8: x = F.pad(...)`).

#include <vector>

#include "host_tracer/graph/graph.h"

namespace lazyrt {

/// Makes graphs of one program the same if they differ in pads and slices that some of them lack:
/// those get pads and slices that do nothing at their size. Graphs that differ in other ways stay
/// as they are. Returns whether structure_of is then the same for all.
bool add_optional_nodes(std::vector<Graph>* graphs);

}  // namespace lazyrt
