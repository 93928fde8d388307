#pragma once

#include <cstdio>

namespace lazyrt::run {

/// Prints Vulkan's devices with their numbers, or why there are none.
void list_devices(bool json, std::FILE* out);

}  // namespace lazyrt::run
