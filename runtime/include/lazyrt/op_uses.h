#pragma once

#include <cstddef>
#include <cstdint>

#include "lazyrt/error.h"
#include "lazyrt/span.h"

namespace lazyrt {

struct OpTable;

/// A node: where it is, where it comes from, and what it needs of a build.
struct OpUse {
  const char* method = "";
  size_t variant = 0;
  size_t node = 0;  ///< its number in the method
  const char* aten = "";
  const char* module_path = "";  ///< of the user's model
  const char* file = "";
  int line = 0;
  const char* op = "";  ///< "conv2d", as in kernels/ops.inc; of a custom operator its name
  bool custom = false;
  const char* function = "";  ///< "Relu": of the ops that are many functions
  uint32_t types = 0;         ///< bit i: an operand or result is of DType i
};

using OpUseHook = void (*)(void* context, const OpUse& use);

/// Calls the hook for each node of every method and variant of a bundle. Checks the file's
/// checksums and structure, but of its tables only what it reads: for tools that prepare a build
/// (`lazy-run --ops`). `bytes` must be 64-byte aligned. kUnsupported: `ops` does not know an
/// operator.
Status list_op_uses(Span<const uint8_t> bytes, const OpTable& ops, OpUseHook hook, void* context);

/// The parts of a bundle, besides its nodes, that a build may leave out.
struct PartUses {
  bool guards = false;
  bool states = false;
  bool variants = false;
};

/// Lists the parts that any method or variant has. Checks the same as list_op_uses.
Status list_part_uses(Span<const uint8_t> bytes, PartUses* uses);

}  // namespace lazyrt
