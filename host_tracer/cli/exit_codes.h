#pragma once

#include "lazyrt/error.h"

namespace lazyrt {

/// Exit codes of lazy-export; `lazy-export --help` lists them.
enum class Exit : int {
  kDone = 0,
  kInternal = 1,     ///< a bug of ours or of a library below
  kUsage = 2,        ///< an option, an input's name, shape or dtype
  kBadFile = 3,      ///< a file is missing, damaged or of another kind
  kUnsupported = 4,  ///< the model uses what LazyRT cannot run
  kCannotWrite = 5,  ///< the output cannot be written
  kMismatch = 6,     ///< the bundle does not reproduce eager's outputs
};

/// The code for a failure of a step that reads.
constexpr Exit exit_code(Error error) {
  switch (error) {
    case Error::kOk:
      return Exit::kDone;
    case Error::kInvalidArgument:
    case Error::kOutOfRange:
      return Exit::kUsage;
    case Error::kInvalidBundle:
    case Error::kVersion:
    case Error::kNotFound:
    case Error::kIo:
      return Exit::kBadFile;
    case Error::kUnsupported:
      return Exit::kUnsupported;
    default:
      return Exit::kInternal;
  }
}

}  // namespace lazyrt
