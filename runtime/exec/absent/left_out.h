#pragma once

// Replaces a part that a selective build left out: a file here defines what the part's own files
// define, and objects are linked before archives.

#include "runtime/bundle/method_check.h"

namespace lazyrt {

/// kUnsupported, with the line of CMake to change.
inline Fault left_out(const OpTable& ops, Word part) {
  return Fault(Error::kUnsupported, "%s were left out: add this bundle to %s", part,
               ops.selection == nullptr ? "lazyrt_selective" : ops.selection);
}

}  // namespace lazyrt
