// For a build without XNNPACK: the kernels that are available.

#include "lazyrt/runtime.h"

namespace lazyrt {

const Backend* cpu_backend() { return reference_backend(); }

}  // namespace lazyrt
