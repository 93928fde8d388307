#pragma once

#include "lazyrt/runtime.h"
#include "schema/bundle_generated.h"

namespace lazyrt::fuzz {

/// Compares tapped values with what the file says of them.
struct TapCheck {
  const fb::MethodT* method = nullptr;  ///< nullptr: nothing is compared
  size_t taken = 0;
  bool is_as_in_file = true;  ///< type and rank, of all values so far
};

/// A watch that reads all that it is given: texts, values to their last byte, spans. It aborts
/// where a span ends before it began.
Watch reading_watch(TapCheck* check);

}  // namespace lazyrt::fuzz
