#pragma once

#include <cstdint>

#include "lazyrt/error.h"
#include "lazyrt/span.h"

namespace lazyrt {

struct OpTable;

/// What one node asks of a build.
struct OpUse {
  const char* op = "";        ///< "conv2d", as in kernels/ops.inc
  const char* function = "";  ///< "Relu": of the ops that are many functions
  uint32_t types = 0;         ///< bit i: an operand or result is of DType i
};

using OpUseHook = void (*)(void* context, const OpUse& use);

/// Calls the hook for each node of every method and variant of a bundle, custom operators left out.
/// Checks the file's checksums and structure, and nothing that its tables say beyond what it reads:
/// for tools that prepare a build (`lazy-run --ops`). `bytes`: 64-byte aligned. kUnsupported: an
/// operator that `ops` does not know.
Status list_op_uses(Span<const uint8_t> bytes, const OpTable& ops, OpUseHook hook, void* context);

}  // namespace lazyrt
