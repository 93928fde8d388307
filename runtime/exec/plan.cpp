#include "runtime/exec/plan.h"

#include <cstring>
#include <utility>

namespace lazyrt {

void Plan::keep_reasons_of(Plan* other) {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    char*& mine = nodes_[i].fallback_reason;
    char*& its = other->nodes_[i].fallback_reason;
    if (mine != nullptr && its != nullptr && std::strcmp(mine, its) == 0) std::swap(mine, its);
  }
}

Plan::~Plan() {
  for (PlannedNode& node : nodes_) {
    if (node.segment_nodes != 0) {
      node.backend->device->release(node.prepared.state, allocator_);
    } else if (node.kernel != nullptr && node.kernel->release != nullptr) {
      node.kernel->release(node.prepared.state, allocator_);
    }
    if (node.fallback_reason != nullptr)
      allocator_.release(allocator_.context, node.fallback_reason);
  }
}

}  // namespace lazyrt
