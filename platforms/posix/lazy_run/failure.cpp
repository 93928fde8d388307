#include "platforms/posix/lazy_run/failure.h"

#include <cstdio>

#include "platforms/posix/lazy_run/text.h"

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
  throw Failure(exit_code(status.error()), prefix + printable(status.message()) + " [" +
                                               error_name(status.error()) + "]" + hint);
}

namespace {

/// Messages may contain names from the bundle, from its files and from the command line.
void print_error(const char* program, const std::exception& error) {
  std::fprintf(stderr, "%s: %s\n", program, printable_lines(error.what()).c_str());
}

}  // namespace

int run_main(const char* program, int argc, char** argv, ExitCode (*run)(int argc, char** argv)) {
  ExitCode code = ExitCode::kRun;
  try {
    code = run(argc, argv);
  } catch (const Failure& failure) {
    print_error(program, failure);
    code = failure.code();
  } catch (const std::exception& error) {
    print_error(program, error);
  }
  const bool printed = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (!printed && code == ExitCode::kOk) code = ExitCode::kIo;
  return static_cast<int>(code);
}

}  // namespace lazyrt::run
