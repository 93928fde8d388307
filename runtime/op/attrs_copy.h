#pragma once

#include "runtime/op/op_def.h"

namespace lazyrt {

/// Bytes that copy_attrs writes for these attributes, a multiple of 8.
size_t attrs_copy_bytes(const OpAttrs& attrs);

/// Writes the attributes, with all that they refer to, to *next, and moves *next behind them. The
/// returned attributes do not depend on the bundle. REQUIRES: *next is aligned to 8 and has
/// attrs_copy_bytes() behind it; the table was verified.
OpAttrs copy_attrs(const OpAttrs& attrs, uint8_t** next);

}  // namespace lazyrt
