#pragma once

#include "lazyrt/error.h"

namespace lazyrt {

/// Exit codes of lazy-export; `lazy-export --help` lists them. 0 to 4 mean what they mean in
/// lazy-run.
enum class Exit : int {
  kDone = 0,
  kUsage = 1,        ///< an option, an input's name, shape or dtype
  kBadFile = 2,      ///< a model or bundle that is damaged or of another kind
  kIo = 3,           ///< a file that is missing, or cannot be read or written
  kMismatch = 4,     ///< the bundle does not reproduce eager's outputs
  kUnsupported = 5,  ///< the model uses what LazyRT cannot run
  kInternal = 6,     ///< a bug of ours or of a library below
  kBroken = 7,       ///< values of the sample are baked into the trace: see its findings
  kLimit = 8,        ///< more memory or work than the limits allow, or than there is
};

/// The code that an error ends in.
constexpr Exit exit_code(Error error) {
  switch (error) {
    case Error::kOk:
      return Exit::kDone;
    case Error::kInvalidArgument:
    case Error::kOutOfRange:
      return Exit::kUsage;
    case Error::kInvalidBundle:
    case Error::kVersion:
      return Exit::kBadFile;
    case Error::kNotFound:
    case Error::kIo:
      return Exit::kIo;
    case Error::kUnsupported:
      return Exit::kUnsupported;
    case Error::kGuardFailed:
      return Exit::kMismatch;
    case Error::kOutOfMemory:
    case Error::kLimitExceeded:
    case Error::kDeadlineExceeded:
    case Error::kCancelled:
      return Exit::kLimit;
    default:
      return Exit::kInternal;
  }
}

}  // namespace lazyrt
