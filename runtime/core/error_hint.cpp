#include "lazyrt/error.h"

namespace lazyrt {

#if LAZYRT_MESSAGES
const char* error_hint(Error error) {
  static constexpr const char* kHints[] = {
      "",
      "Compare what was given with what the method and the options say they take.",
      "Copy the file again, or export it again: it is damaged, or not of lazy-export.",
      "Update this runtime, or export with the lazy-export of its version.",
      "Build the runtime with what is missing, or export without it.",
      "Look at the names that the bundle lists.",
      "Check the indices in the inputs against the sizes that they point into.",
      "Raise memory_limit, give a larger buffer, or use smaller inputs.",
      "Check that the file is there, readable, and not changed meanwhile.",
      "Make a session for each thread, or wait for the other one.",
      "See what has to be called or set before.",
      "Report it, with the bundle: it is a bug of LazyRT or of a library below.",
      "Export with an example that takes this path, too.",
      "",
      "Raise the deadline, or run fewer or faster nodes.",
      "Raise the limit that is named, if you trust the bundle."};
  static_assert(sizeof(kHints) / sizeof(kHints[0]) ==
                static_cast<size_t>(Error::kLimitExceeded) + 1);
  const auto i = static_cast<unsigned>(error);
  return i < sizeof(kHints) / sizeof(kHints[0]) ? kHints[i] : "";
}
#else
const char* error_hint(Error) { return ""; }
#endif

}  // namespace lazyrt
