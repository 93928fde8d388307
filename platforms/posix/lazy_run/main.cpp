// lazy-run: runs a bundle on this machine, checks it against its samples or measures it.

#include <cstdio>

#include "lazyrt/backend_choice.h"
#include "platforms/posix/lazy_run/explain.h"
#include "platforms/posix/lazy_run/op_list.h"
#include "platforms/posix/lazy_run/progress.h"
#include "platforms/posix/lazy_run/runner.h"

namespace lazyrt::run {
namespace {

Program open_program(const Options& options) {
  LoadOptions load;
  load.check_data = options.check_data;
  load.memory_limit = options.memory_limit;
  load.work_limit = options.work_limit;
  load.node_work_limit = options.node_work_limit;
  Result<Program> program = Program::open(options.bundle.c_str(), default_ops(), load);
  if (program.status().error() == Error::kNotFound) {
    throw Failure(ExitCode::kIo, program.status().message());
  }
  require(program.status(), options.bundle);
  return std::move(*program);
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
  BackendChoice backends;
  Progress progress;
  Surroundings surroundings;
  surroundings.open = [&] { return open_program(options); };
  const Result<const Backend*> backend = backends.find(options.backend.c_str(), options.device);
  if (!backend.ok()) throw Failure(ExitCode::kRun, backend.status().message());
  surroundings.backend = *backend;
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
