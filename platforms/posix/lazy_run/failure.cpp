#include "platforms/posix/lazy_run/failure.h"

namespace lazyrt::run {

ExitCode exit_code(Error error) {
  switch (error) {
    case Error::kOk:
      return ExitCode::kOk;
    case Error::kInvalidArgument:
    case Error::kNotFound:
      return ExitCode::kUsage;
    case Error::kInvalidBundle:
    case Error::kVersion:
    case Error::kUnsupported:
      return ExitCode::kBundle;
    case Error::kIo:
      return ExitCode::kIo;
    default:
      return ExitCode::kRun;
  }
}

void require(const Status& status, const std::string& what) {
  if (status.ok()) return;
  const std::string prefix = what.empty() ? "" : what + ": ";
  throw Failure(exit_code(status.error()),
                prefix + status.message() + " [" + error_name(status.error()) + "]");
}

}  // namespace lazyrt::run
