#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "platforms/posix/lazy_run/failure.h"

namespace lazyrt::run {

/// The command line.
struct Options {
  std::string bundle;
  std::string method;                                       ///< empty: "forward", or the only one
  std::vector<std::pair<std::string, std::string>> inputs;  ///< name, file
  std::string input_dir;
  std::string output_dir;
  std::string raw_output;
  std::vector<std::string> taps;  ///< --tap, selectors of values
  std::string trace;              ///< --trace, a file; empty: none
  std::string backend = "cpu";
  int device = -1;    ///< of Vulkan's; -1: the fastest kind
  std::string cache;  ///< a folder for what Vulkan keeps between runs; empty: none
  bool self_test = false;
  bool list_devices = false;  ///< list Vulkan's devices instead of running
  int threads = 1;
  double bench_seconds = 0;         ///< 0: no benchmark
  std::optional<double> tolerance;  ///< relative to the largest expected value
  double deadline_seconds = 0;      ///< of each run; 0: none
  uint64_t memory_limit = 0;        ///< as LoadOptions and SessionOptions
  uint64_t work_limit = 0;          ///< as LoadOptions
  uint64_t node_work_limit = 0;     ///< as LoadOptions
  bool json = false;
  bool profile = false;
  bool check_data = false;
  std::string explain;  ///< a code to give the text of instead of running
  bool ops = false;     ///< list what the bundle needs of a build instead of running it

  bool bench() const { return bench_seconds > 0; }
  bool has_inputs() const { return !inputs.empty() || !input_dir.empty(); }
};

/// True: go on with *options. False: end with *code, everything was said (--help, --version, an
/// error).
bool parse_options(int argc, char** argv, Options* options, ExitCode* code);

}  // namespace lazyrt::run
