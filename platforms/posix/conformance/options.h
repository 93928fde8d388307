#pragma once

#include <string>
#include <vector>

#include "platforms/posix/lazy_run/failure.h"

namespace lazyrt::conformance {

/// The command line.
struct Options {
  std::string folder;
  std::vector<std::string> filters, excludes;  ///< '*' stands for any text
  std::vector<std::string> backends = {"cpu", "reference"};
  std::vector<std::string> expect;  ///< expectation files beside the folder's own
  std::string junit, json;
  int threads = 1;
  double limit_seconds = 60;
  bool list = false;
  bool quiet = false;
  bool in_process = false;
};

/// As run::parse_options.
bool parse_options(int argc, char** argv, Options* options, run::ExitCode* code);

}  // namespace lazyrt::conformance
