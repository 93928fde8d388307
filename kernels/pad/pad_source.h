#pragma once

#include <cstdint>

#include "schema/ops_generated.h"

namespace lazyrt {

/// Returns the position of x that position i, counted from x's first, is copied from, or -1 for
/// padding by value.
inline int64_t pad_source(fb::PadMode mode, int64_t i, int64_t extent) {
  if (i >= 0 && i < extent) return i;
  switch (mode) {
    case fb::PadMode::Reflect:
      return i < 0 ? -i : 2 * (extent - 1) - i;
    case fb::PadMode::Replicate:
      return i < 0 ? 0 : extent - 1;
    case fb::PadMode::Circular:
      return i < 0 ? i + extent : i - extent;
    default:
      return -1;
  }
}

}  // namespace lazyrt
