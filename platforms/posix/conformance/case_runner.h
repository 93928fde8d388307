#pragma once

#include <string>

#include "platforms/posix/conformance/manifest.h"

namespace lazyrt::conformance {

struct Outcome {
  enum class Kind : uint8_t {
    kPassed,
    kFailed,
    kUnsupported,  ///< this build lacks what the bundle needs
    kCrashed,      ///< the process ended
    kTimedOut,
  };
  Kind kind = Kind::kPassed;
  double max_error = 0;  ///< largest absolute error over all outputs; infinite where a NaN is wrong
  double milliseconds = 0;  ///< of all runs, without loading the bundle and making the session
  std::string message;      ///< what went wrong
};

struct RunnerOptions {
  std::string folder;
  int threads = 1;
};

/// Runs cases in this process. Keeps the last bundle open.
class CaseRunner {
 public:
  explicit CaseRunner(const RunnerOptions& options) : options_(options) {}

  Outcome run(const Case& c, const Backend* backend);

 private:
  Status open(const std::string& bundle);

  const RunnerOptions options_;
  std::string open_bundle_;
  std::optional<Program> program_;
};

}  // namespace lazyrt::conformance
