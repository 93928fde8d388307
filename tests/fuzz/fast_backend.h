#pragma once

#include "lazyrt/runtime.h"

namespace lazyrt::fuzz {

/// What is compared with the reference backend: cpu, or with LAZYRT_FUZZ_VULKAN=1 in the
/// environment a device of Vulkan at the minimum limits, which ends the process where there is
/// none.
const Backend* fast_backend();

}  // namespace lazyrt::fuzz
