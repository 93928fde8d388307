#pragma once

// What kernels that wrap one XNNPACK operator share.

#include <xnnpack.h>

#include "lazyrt/error.h"
#include "runtime/op/op_def.h"

namespace lazyrt {

/// Ok, or XNNPACK's status in words with `call` named.
inline Status status_of_xnn(const char* call, enum xnn_status status) {
  switch (status) {
    case xnn_status_success:
      return {};
    case xnn_status_out_of_memory:
      return Status(Error::kOutOfMemory, "%s: no memory", call);
    case xnn_status_unsupported_hardware:
      return Status(Error::kUnsupported, "%s: this processor is not supported", call);
    default:
      return Status(Error::kInternal, "%s: XNNPACK answered %d", call, static_cast<int>(status));
  }
}

/// State of a kernel that is one XNNPACK operator.
struct XnnState {
  xnn_operator_t op = nullptr;
};

/// Kernel::release of such kernels.
void release_xnn(void* state, const Allocator& allocator);

/// To be returned by prepare: on failure, frees the state made so far.
Status prepared_xnn(Status status, const Allocator& allocator, PreparedKernel* prepared,
                    void (*release)(void*, const Allocator&) = release_xnn);

}  // namespace lazyrt
