// Of a build without XNNPACK: the kernels that there are.

#include "lazyrt/runtime.h"

namespace lazyrt {

const Backend* cpu_backend() { return reference_backend(); }

}  // namespace lazyrt
