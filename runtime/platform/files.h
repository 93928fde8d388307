#pragma once

// Writing files. Implemented once for each operating system in platforms/<os>; a system without
// files does not implement it.

#include <cstddef>

#include "lazyrt/error.h"

namespace lazyrt {

/// Creates or replaces a file, all or nothing: whoever reads `path` meanwhile finds the old content
/// or the new one. Its folder must exist. kIo names the path and the reason.
Status platform_replace_file(const char* path, const void* data, size_t bytes);

}  // namespace lazyrt
