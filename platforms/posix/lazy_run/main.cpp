// lazy-run: runs a bundle on this machine, checks it against its samples or measures it.

#include <cstdio>

#include "lazyrt/backend_choice.h"
#include "lazyrt/log.h"
#include "platforms/posix/lazy_run/devices.h"
#include "platforms/posix/lazy_run/explain.h"
#include "platforms/posix/lazy_run/fallbacks.h"
#include "platforms/posix/lazy_run/op_list.h"
#include "platforms/posix/lazy_run/progress.h"
#include "platforms/posix/lazy_run/report.h"
#include "platforms/posix/lazy_run/runner.h"
#include "platforms/posix/lazy_run/text.h"

namespace lazyrt::run {
namespace {

Program open_program(const Options& options, const std::string& bundle) {
  LoadOptions load;
  load.check_data = options.check_data;
  load.memory_limit = options.memory_limit;
  load.work_limit = options.work_limit;
  load.node_work_limit = options.node_work_limit;
  Result<Program> program = Program::open(bundle.c_str(), default_ops(), load);
  if (program.status().error() == Error::kNotFound) {
    throw Failure(ExitCode::kIo, program.status().message());
  }
  require(program.status(), bundle);
  return std::move(*program);
}

void print_warning(LogLevel level, const char* message) {
  if (level == LogLevel::kWarning)
    std::fprintf(stderr, "lazy-run: %s\n", printable(message).c_str());
}

/// Says how it went on stderr.
Json self_test(BackendChoice* backends, const Program& program) {
  require(backends->self_test(program), "--self-test");
  Json refused = Json::array();
  std::string names;
  for (size_t i = 0; i < backends->refused_count(); ++i) {
    const std::string op = backends->refused(i);
    refused.push_back(op);
    names += (i == 0 ? "" : ", ") + (op.empty() ? "all operators" : op);
  }
  std::fprintf(stderr, "lazy-run: self-test on '%s': %s\n",
               printable(backends->device_name()).c_str(),
               names.empty() ? "passed" : ("the cpu runs " + names).c_str());
  return {{"device", backends->device_name()}, {"refused", refused}};
}

ExitCode run(int argc, char** argv) {
  Options options;
  ExitCode code = ExitCode::kOk;
  if (!parse_options(argc, argv, &options, &code)) return code;
  if (!options.explain.empty()) {
    std::printf("%s", explain(options.explain, options.bundle, default_ops()).c_str());
    return ExitCode::kOk;
  }
  if (options.ops) {
    std::printf("%s", op_list(options.bundle, default_ops()).c_str());
    return ExitCode::kOk;
  }
  if (options.list_devices) {
    list_devices(options.json, stdout);
    return ExitCode::kOk;
  }
  set_log_hook(print_warning);
  if (!options.cache.empty()) make_folder(options.cache);
  BackendChoice backends(options.cache.empty() ? nullptr : options.cache.c_str());
  Progress progress;
  Surroundings surroundings;
  surroundings.open = [&] { return open_program(options, options.bundle); };
  const Result<const Backend*> backend = backends.find(options.backend.c_str(), options.device);
  if (!backend.ok()) throw Failure(ExitCode::kRun, backend.status().message());
  surroundings.backend = *backend;
  if (options.fallbacks) {
    const auto open = [&](const std::string& bundle) { return open_program(options, bundle); };
    list_fallbacks(options, default_ops(), *backend, open, stdout);
    return ExitCode::kOk;
  }
  if (options.self_test && backends.is_vulkan_open()) {
    surroundings.self_test = [&](const Program& program) {
      progress.phase("testing the device");
      return self_test(&backends, program);
    };
  }
  surroundings.out = stdout;
  surroundings.err = stderr;
  surroundings.phase = [&](const std::string& what) { progress.phase(what); };
  return run_bundle(options, surroundings);
}

}  // namespace
}  // namespace lazyrt::run

int main(int argc, char** argv) {
  return lazyrt::run::run_main("lazy-run", argc, argv, lazyrt::run::run);
}
