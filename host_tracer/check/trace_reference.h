#pragma once

#include <memory>
#include <vector>

#include "host_tracer/compile/trace_groups.h"
#include "host_tracer/trace/eager_reference.h"

namespace lazyrt {

/// The program as ATen evaluates its traces, beginning with `groups[first]`: for files that hold
/// nothing else. `groups` must outlive it.
std::shared_ptr<const EagerReference> trace_reference(const std::vector<TraceGroup>& groups,
                                                      size_t first);

}  // namespace lazyrt
