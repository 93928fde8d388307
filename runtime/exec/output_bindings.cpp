#include "runtime/exec/output_bindings.h"

namespace lazyrt {

size_t OutputBindings::overlapped(size_t i, const OutputBinding& binding) const {
  size_t k = 0;
  for (; k < bindings_.size(); ++k) {
    const OutputBinding& other = bindings_[k];
    if (k != i && other.is_bound() && other.space == binding.space &&
        overlap(other.data, other.writable, binding.data, binding.writable)) {
      break;
    }
  }
  return k;
}

bool OutputBindings::overlap_host(const void* data, size_t bytes) const {
  for (const OutputBinding& binding : bindings_) {
    if (binding.is_bound() && binding.space == kHostSpace &&
        overlap(binding.data, binding.writable, data, bytes)) {
      return true;
    }
  }
  return false;
}

}  // namespace lazyrt
