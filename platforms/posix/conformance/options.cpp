#include "platforms/posix/conformance/options.h"

#include <CLI/CLI.hpp>
#include <iostream>

namespace lazyrt::conformance {
namespace {

constexpr const char* kAbout =
    "Runs a folder of bundles on this machine and compares with the results that belong to them:\n"
    "operators, models, guards, states, variants, changing shapes, files of older formats, "
    "damaged\n"
    "files. The folder is made on the host: `cmake --build --preset dev --target "
    "conformance_folder`.";

constexpr const char* kFooter =
    R"(A line for each case and backend: verdict, backend, largest absolute error, time of the runs, case, and
what is wrong. Cases run in processes of their own: one that crashes or hangs costs itself only.

FOLDER/expectations.txt, and each file of --expect, has lines
  UNSUPPORTED|XFAIL[:BUILD,...] CASE[@BACKEND] REASON
'*' in CASE stands for any text. A case that passes although a line says that it fails, fails.

Exit codes: 0 all is as it should be; 1 bad command line, manifest or expectation file, or no case
matches; 3 a file cannot be read or written; 4 a case failed; 5 no process can be made for the cases.

Examples:
  lazyrt-conformance conformance
  lazyrt-conformance conformance --filter 'ops/conv*' --backend cpu --threads 2 --junit result.xml)";

void add_options(CLI::App* app, Options* o) {
  app->add_option("folder", o->folder, "Folder with manifest.json and the bundles")->required();
  app->add_option("--filter", o->filters, "Only cases that this matches; may be repeated")
      ->allow_extra_args(false);
  app->add_option("--exclude", o->excludes, "Not the cases that this matches; may be repeated")
      ->allow_extra_args(false);
  app->add_option("--backend", o->backends, "cpu, reference or vulkan; default: cpu and reference")
      ->check(CLI::IsMember({"cpu", "reference", "vulkan"}))
      ->allow_extra_args(false);
  app->add_option("--expect", o->expect, "Another expectation file; may be repeated")
      ->allow_extra_args(false);
  app->add_option("--threads", o->threads, "Threads, the calling one included")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app->add_option("--limit", o->limit_seconds, "Most seconds that a case may take")
      ->check(CLI::Range(0.1, 86400.0))
      ->capture_default_str();
  app->add_option("--junit", o->junit, "Writes the results there as JUnit's XML");
  app->add_option("--json", o->json, "Writes the results there as JSON");
  app->add_flag("--list", o->list, "Lists the cases, runs none");
  app->add_flag("--quiet", o->quiet, "Prints only what failed, and the summary");
  app->add_flag("--in-process", o->in_process, "Runs all in this process, for a debugger");
}

}  // namespace

bool parse_options(int argc, char** argv, Options* options, run::ExitCode* code) {
  CLI::App app(kAbout, "lazyrt-conformance");
  app.footer(kFooter);
  app.set_version_flag("--version", "lazyrt-conformance " LAZYRT_VERSION);
  add_options(&app, options);
  try {
    app.parse(argc, argv);
    return true;
  } catch (const CLI::ParseError& error) {
    const bool shown = app.exit(error, std::cout, std::cerr) == 0;
    *code = shown ? run::ExitCode::kOk : run::ExitCode::kUsage;
    return false;
  }
}

}  // namespace lazyrt::conformance
