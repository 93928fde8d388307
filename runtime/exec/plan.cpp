#include "runtime/exec/plan.h"

namespace lazyrt {

Plan::~Plan() {
  for (PlannedNode& node : nodes_) {
    if (node.segment_nodes != 0) {
      node.backend->device->release(node.prepared.state, allocator_);
    } else if (node.kernel != nullptr && node.kernel->release != nullptr) {
      node.kernel->release(node.prepared.state, allocator_);
    }
  }
}

}  // namespace lazyrt
