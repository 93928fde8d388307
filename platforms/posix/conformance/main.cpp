// lazyrt-conformance: does this machine compute what it should?

#include <algorithm>
#include <cstdio>
#include <exception>

#include "lazyrt/backend_choice.h"

#include "platforms/posix/conformance/isolation.h"
#include "platforms/posix/conformance/options.h"
#include "platforms/posix/conformance/results.h"
#include "platforms/posix/lazy_run/npy.h"
#include "platforms/posix/lazy_run/text.h"

namespace lazyrt::conformance {
namespace {

using run::ExitCode;
using run::Failure;

struct Job {
  const Case* c;
  const char* backend;
};

bool any_matches(const std::vector<std::string>& patterns, const std::string& id) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return Expectations::matches(pattern.c_str(), id.c_str());
  });
}

std::string id_on(const Case& c, const std::string& backend) { return c.id + "@" + backend; }

/// All expectation files as one.
class AllExpectations {
 public:
  AllExpectations(const Options& options, const std::vector<Case>& cases) {
    const std::string own = options.folder + "/expectations.txt";
    if (std::FILE* file = std::fopen(own.c_str(), "r")) {
      std::fclose(file);
      add(own, cases);
    }
    for (const std::string& path : options.expect) add(path, cases);
  }

  Expectation of(const Case& c, const char* backend) const {
    for (const Expectations& file : files_) {
      for (const std::string& id : {id_on(c, backend), c.id}) {
        const Expectation found = file.of(id);
        if (found.kind != Expectation::Kind::kPass) return found;
      }
    }
    return {};
  }

 private:
  void add(const std::string& path, const std::vector<Case>& cases) {
    std::string error;
    files_.push_back(Expectations::read(path, &error));
    if (!error.empty()) throw Failure(ExitCode::kUsage, error);
    for (const auto& line : files_.back().lines()) {
      const bool named = std::any_of(cases.begin(), cases.end(), [&](const Case& c) {
        return any_matches({line.first}, c.id) || any_matches({line.first}, id_on(c, "cpu")) ||
               any_matches({line.first}, id_on(c, "reference")) ||
               any_matches({line.first}, id_on(c, "vulkan"));
      });
      if (!named) throw Failure(ExitCode::kUsage, path + ": there is no case " + line.first);
    }
  }

  std::vector<Expectations> files_;
};

std::vector<Job> jobs_of(const Options& options, const std::vector<Case>& cases) {
  std::vector<Job> jobs;
  for (const Case& c : cases) {
    if (!options.filters.empty() && !any_matches(options.filters, c.id)) continue;
    if (any_matches(options.excludes, c.id)) continue;
    for (const std::string& name : options.backends) jobs.push_back({&c, name.c_str()});
  }
  if (jobs.empty()) throw Failure(ExitCode::kUsage, "no case matches");
  return jobs;
}

void write_text(const std::string& path, const std::string& text) {
  if (!path.empty()) run::write_file(path, text.data(), text.size());
}

std::vector<Row> run_jobs(const Options& options, const std::vector<Job>& jobs,
                          const AllExpectations& expectations) {
  std::vector<Row> rows;
  BackendChoice backends;  // the process that uses a device opens it
  CaseRunner runner({options.folder, options.threads});
  const auto work = [&](size_t i) {
    const Result<const Backend*> backend = backends.find(jobs[i].backend);
    run::require(backend.status());
    return runner.run(*jobs[i].c, *backend);
  };
  const auto done = [&](size_t i, const Outcome& outcome) {
    const Case& c = *jobs[i].c;
    const char* backend = jobs[i].backend;
    rows.push_back(judged(c, backend, outcome, expectations.of(c, backend)));
    if (options.quiet && rows.back().good()) return;
    std::printf("%s\n", table_line(rows.back()).c_str());
    std::fflush(stdout);
  };
  if (options.in_process) {
    for (size_t i = 0; i < jobs.size(); ++i) done(i, work(i));
  } else {
    run_isolated(jobs.size(), options.limit_seconds, work, done);
  }
  return rows;
}

ExitCode run(int argc, char** argv) {
  Options options;
  ExitCode code = ExitCode::kOk;
  if (!parse_options(argc, argv, &options, &code)) return code;
  const std::vector<Case> cases = read_manifest(options.folder);
  const AllExpectations expectations(options, cases);
  const std::vector<Job> jobs = jobs_of(options, cases);
  if (options.list) {
    for (const Job& job : jobs)
      std::printf("%s\n", run::printable(id_on(*job.c, job.backend)).c_str());
    return ExitCode::kOk;
  }
  const std::vector<Row> rows = run_jobs(options, jobs, expectations);
  write_text(options.junit, junit_xml(rows));
  write_text(options.json, json_text(rows, options.threads));
  std::printf("%s\n", summary(rows).c_str());
  return std::all_of(rows.begin(), rows.end(), [](const Row& row) { return row.good(); })
             ? ExitCode::kOk
             : ExitCode::kMismatch;
}

}  // namespace
}  // namespace lazyrt::conformance

int main(int argc, char** argv) {
  return lazyrt::run::run_main("lazyrt-conformance", argc, argv, lazyrt::conformance::run);
}
