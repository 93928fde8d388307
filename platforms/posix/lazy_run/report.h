#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lazyrt/runtime.h"
#include "platforms/posix/lazy_run/bench.h"
#include "platforms/posix/lazy_run/compare.h"
#include "platforms/posix/lazy_run/options.h"

namespace lazyrt::run {

using Json = nlohmann::ordered_json;

/// Times of one start.
struct StartTimes {
  double load_ms = 0;   ///< open, verify, create the session
  double first_ms = 0;  ///< the first run
};

Json shape_json(const Shape& shape);
/// With those it is in. Throws a Failure.
void make_folder(const std::string& path);

/// Writes outputs to the files that the options ask for; gives `outputs` of the JSON.
Json write_outputs(const Method& method, const Session& session, const Options& options);

/// `inputs`, `literals` and `reference_nodes` of the JSON: what the method is and how it is run.
Json describe(const Method& method, const Session& session, const Options& options);
/// The guards that turned a run away from their variant, and how often.
Json refusals_json(const Method& method, const Session& session);

/// The JSON of one output's comparison.
Json to_json(const char* name, const Difference& difference);

Json bench_json(const Program& program, const Session& session, const Bench& bench,
                const StartTimes& times);

/// One line for stdout. Text that is not UTF-8 is replaced.
std::string dump(const Json& json);

/// Nodes by the time they took, as a table. REQUIRES: a session made with `profile`.
std::string profile_table(const Session& session);
/// The same in order of execution.
Json profile_json(const Session& session);

}  // namespace lazyrt::run
