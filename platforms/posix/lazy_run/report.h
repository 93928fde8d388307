#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "lazyrt/runtime.h"
#include "platforms/posix/lazy_run/bench.h"
#include "platforms/posix/lazy_run/compare.h"
#include "platforms/posix/lazy_run/json_stream.h"
#include "platforms/posix/lazy_run/options.h"

// Lists of what a bundle has many of are streamed, and repeat at most kLongestShown bytes of a
// text: a report takes time and space in proportion to the bundle's nodes, variants, guards and
// samples.

namespace lazyrt::run {

/// Times of one start.
struct StartTimes {
  double load_ms = 0;   ///< open, verify, create the session
  double first_ms = 0;  ///< the first run
};

/// How one output compares with a sample's.
struct CheckedOutput {
  Difference difference;
  std::string types;  ///< where they differ: "is f32[1], must be f32[4]"
};
struct CheckedSample {
  size_t variant = 0;  ///< that ran
  bool ok = true;
  std::vector<CheckedOutput> outputs;
};

/// "f32[2,3]"
std::string type_text(DType dtype, const Shape& shape);
Json shape_json(const Shape& shape);
/// With those it is in. Throws a Failure.
void make_folder(const std::string& path);

/// Writes outputs to the files that the options ask for, in the folder `run` of theirs where it is
/// not empty; gives `outputs` of the JSON.
Json write_outputs(const Method& method, const Session& session, const Options& options,
                   const std::string& run = "");
/// Outputs as lines of text.
void print_outputs(const Json& outputs, std::FILE* out);

/// Members that say what the method is and how it is run: bundle, inputs, variants, literals,
/// reference_nodes, ...
void describe(const Method& method, const Session& session, const Options& options,
              JsonStream* json);
/// `guard_refusals`: the guards that turned a run away from their variant, and how often.
void add_refusals(const Method& method, const Session& session, JsonStream* json);
/// `samples`.
void add_samples(const Method& method, const std::vector<CheckedSample>& samples, JsonStream* json);

Json bench_json(const Program& program, const Session& session, const Bench& bench,
                const StartTimes& times);

/// Nodes by the time they took, as a table. REQUIRES: a session made with `profile`.
void print_profile(const Session& session, std::FILE* out);
/// `profile`: the same in order of execution.
void add_profile(const Session& session, JsonStream* json);

}  // namespace lazyrt::run
