#pragma once

// How lazy-run ends. README.md in the folder above and --help list the codes.

#include <stdexcept>
#include <string>

#include "lazyrt/error.h"

namespace lazyrt::run {

enum class ExitCode : int {
  kOk = 0,
  kUsage = 1,     ///< command line, or an input's name, dtype or shape
  kBundle = 2,    ///< not a bundle, damaged, of a newer version, or needs what this build lacks
  kIo = 3,        ///< a file that cannot be read or written
  kMismatch = 4,  ///< an output differs from the sample's beyond tolerance
  kRun = 5,       ///< the run itself failed: a broken guard, a bad index, no memory
};

/// Ends the program with this code and message.
class Failure : public std::runtime_error {
 public:
  Failure(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

/// The exit code for an error of the runtime.
ExitCode exit_code(Error error);
/// Throws a Failure unless ok; `what` goes before the message.
void require(const Status& status, const std::string& what = "");

/// Runs a program's `run`, and gives what main answers: its code, a Failure's, or kIo where stdout
/// cannot be written. Prints errors to stderr after the program's name.
int run_main(const char* program, int argc, char** argv, ExitCode (*run)(int argc, char** argv));

}  // namespace lazyrt::run
