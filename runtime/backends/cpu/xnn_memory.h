#pragma once

#include <xnnpack.h>

#include "runtime/core/allocator.h"

namespace lazyrt {

/// While it lives, XNNPACK's allocations on this thread come from `allocator`, which must live
/// until XNNPACK has released them, on whatever thread. Elsewhere XNNPACK gets the platform's
/// memory. Has no effect if the application initialized XNNPACK before us.
class XnnMemory {
 public:
  explicit XnnMemory(const Allocator& allocator);
  ~XnnMemory();
  XnnMemory(const XnnMemory&) = delete;
  XnnMemory& operator=(const XnnMemory&) = delete;

 private:
  const Allocator allocator_;
  const Allocator* const outer_;
};

/// For xnn_initialize.
const xnn_allocator* xnn_memory_hooks();

}  // namespace lazyrt
