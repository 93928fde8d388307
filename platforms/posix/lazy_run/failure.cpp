#include "platforms/posix/lazy_run/failure.h"

#include <cstdio>

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
  const std::string hint = status.hint()[0] == '\0' ? "" : std::string("\n") + status.hint();
  throw Failure(exit_code(status.error()),
                prefix + status.message() + " [" + error_name(status.error()) + "]" + hint);
}

int run_main(const char* program, int argc, char** argv, ExitCode (*run)(int argc, char** argv)) {
  ExitCode code = ExitCode::kRun;
  try {
    code = run(argc, argv);
  } catch (const Failure& failure) {
    std::fprintf(stderr, "%s: %s\n", program, failure.what());
    code = failure.code();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", program, error.what());
  }
  if (std::fflush(stdout) != 0 && code == ExitCode::kOk) code = ExitCode::kIo;
  return static_cast<int>(code);
}

}  // namespace lazyrt::run
