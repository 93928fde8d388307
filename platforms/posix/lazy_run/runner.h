#pragma once

#include <cstdio>
#include <functional>
#include <string>

#include "lazyrt/runtime.h"
#include "platforms/posix/lazy_run/json_stream.h"
#include "platforms/posix/lazy_run/options.h"

namespace lazyrt::run {

/// What a run of lazy-run gets besides its options.
struct Surroundings {
  std::function<Program()> open;  ///< the bundle that the options name; throws a Failure
  const Backend* backend = nullptr;
  /// Runs the self-test that is asked for, and gives `self_test` of the JSON; may be empty.
  std::function<Json(const Program&)> self_test;
  std::FILE* out = nullptr;                       ///< as stdout
  std::FILE* err = nullptr;                       ///< as stderr
  std::function<void(const std::string&)> phase;  ///< hears what begins, e.g. "loading model.lzb"
};

/// Runs a bundle with inputs, checks it against its samples or measures it, as the options say.
/// Throws a Failure.
ExitCode run_bundle(const Options& options, const Surroundings& surroundings);

}  // namespace lazyrt::run
