// repeated_runs RUNS: runs DS-CNN's sample that often. For counting what a run takes,
// tests/bench/instruction_counts.py.

#include <cstdlib>

#include "ds_cnn.h"
#include "lazyrt/runtime.h"
#include "lazyrt/static_memory.h"
#include "platforms/baremetal/semihosting.h"
#include "tests/cortex_m/print.h"

namespace {

using lazyrt::Method;
using lazyrt::Program;
using lazyrt::Result;
using lazyrt::Session;

__attribute__((section(".lazyrt_memory"))) alignas(
    lazyrt::kBufferAlignment) uint8_t buffer[ds_cnn::forward::kBufferBytes];

lazyrt::Status run(long runs) {
  lazyrt::StaticMemory memory(buffer, sizeof(buffer));
  lazyrt::LoadOptions load;
  load.allocator = memory.hooks();
  Result<Program> program =
      Program::load({ds_cnn_bundle, sizeof(ds_cnn_bundle)}, lazyrt::default_ops(), load);
  LAZYRT_RETURN_IF_ERROR(program.status());
  const Method method = program->method(0);
  lazyrt::SessionOptions options;
  options.backend = lazyrt::reference_backend();
  options.allocator = memory.hooks();
  Result<Session> session = Session::create(method, options);
  LAZYRT_RETURN_IF_ERROR(session.status());
  for (size_t i = 0; i < method.input_count(); ++i)
    LAZYRT_RETURN_IF_ERROR(session->set_input(i, method.sample_input(0, i)));
  for (long n = 0; n < runs; ++n) LAZYRT_RETURN_IF_ERROR(session->run());
  return {};
}

}  // namespace

int main() {
  char runs[16] = {};
  lazyrt::semihosting::command_line(runs, sizeof(runs));
  const lazyrt::Status status = run(std::atol(runs));
  if (!status.ok()) lazyrt::test::print("%s\n", status.message());
  return status.ok() ? 0 : 1;
}
