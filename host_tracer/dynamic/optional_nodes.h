#pragma once

// Programs that pad or cut only where a size needs it (`if n % 8: x = F.pad(...)`).

#include <vector>

#include "host_tracer/graph/graph.h"

namespace lazyrt {

/// Makes graphs of one program the same where they differ in pads and slices that some of them
/// lack: these get ones that do nothing at their size. Graphs that differ otherwise, too, stay as
/// they are. Answers whether structure_of is the same for all.
bool add_optional_nodes(std::vector<Graph>* graphs);

}  // namespace lazyrt
