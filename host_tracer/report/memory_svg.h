#pragma once

#include <string>

#include "host_tracer/report/bundle_info.h"

namespace lazyrt {

/// The arena over the run as an SVG element: a bar for each value that owns memory.
std::string memory_svg(const MethodInfo& method);

}  // namespace lazyrt
