#include "runtime/backends/cpu/xnn_op.h"

namespace lazyrt {

void release_xnn(void* state, const Allocator& allocator) {
  if (state == nullptr) return;
  auto* xnn = static_cast<XnnState*>(state);
  if (xnn->op != nullptr) xnn_delete_operator(xnn->op);
  allocator.release(allocator.context, state);
}

Status prepared_xnn(Status status, const Allocator& allocator, PreparedKernel* prepared,
                    void (*release)(void*, const Allocator&)) {
  if (status.ok()) return status;
  release(prepared->state, allocator);
  prepared->state = nullptr;
  return status;
}

}  // namespace lazyrt
