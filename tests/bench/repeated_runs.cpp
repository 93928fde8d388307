// repeated_runs BUNDLE RUNS: runs a bundle's first sample that often on the cpu backend, with one
// thread. For counting what a run takes, instruction_counts.py.

#include <cstdio>
#include <cstdlib>

#include "lazyrt/runtime.h"

namespace {

lazyrt::Status run(const char* bundle, long runs) {
  lazyrt::Result<lazyrt::Program> program = lazyrt::Program::open(bundle, lazyrt::default_ops());
  LAZYRT_RETURN_IF_ERROR(program.status());
  const lazyrt::Method method = program->method(0);
  lazyrt::SessionOptions options;
  options.backend = lazyrt::cpu_backend();
  lazyrt::Result<lazyrt::Session> session = lazyrt::Session::create(method, options);
  LAZYRT_RETURN_IF_ERROR(session.status());
  for (size_t i = 0; i < method.input_count(); ++i)
    LAZYRT_RETURN_IF_ERROR(session->set_input(i, method.sample_input(0, i)));
  for (long n = 0; n < runs; ++n) LAZYRT_RETURN_IF_ERROR(session->run());
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: repeated_runs BUNDLE RUNS\n");
    return 1;
  }
  const lazyrt::Status status = run(argv[1], std::atol(argv[2]));
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.message());
  return status.ok() ? 0 : 1;
}
