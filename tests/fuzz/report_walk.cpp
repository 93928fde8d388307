#include "tests/fuzz/report_walk.h"

#include <cstdio>
#include <cstdlib>

#include "lazyrt/runtime.h"
#include "platforms/posix/lazy_run/json_stream.h"
#include "platforms/posix/lazy_run/runner.h"
#include "platforms/posix/lazy_run/text.h"

namespace lazyrt::fuzz {
namespace {

constexpr double kLeastBenchmark = 1e-9;

/// A stream into memory.
class TextStream {
 public:
  TextStream() : stream_(open_memstream(&text_, &bytes_)) {}
  TextStream(const TextStream&) = delete;
  TextStream& operator=(const TextStream&) = delete;
  ~TextStream() {
    std::fclose(stream_);
    std::free(text_);
  }

  std::FILE* stream() const { return stream_; }
  std::string text() {
    std::fflush(stream_);
    return {text_, bytes_};
  }

 private:
  char* text_ = nullptr;
  size_t bytes_ = 0;
  std::FILE* stream_;
};

run::Options options_of(uint32_t choice) {
  run::Options options;
  options.bundle = "bundle";
  options.memory_limit = 16 << 20;
  options.json = (choice & kAsJson) != 0;
  options.profile = (choice & kWithProfile) != 0;
  if ((choice & kWithTaps) != 0) options.taps = {"*"};
  if ((choice & kWithTrace) != 0) options.trace = "/dev/null";
  if ((choice & kAsBenchmark) != 0)
    options.bench_seconds = kLeastBenchmark, options.raw_output = "/dev/null";
  if ((choice & kOnCpu) == 0) options.backend = "reference";
  return options;
}

LoadOptions small_limits(const run::Options& options) {
  LoadOptions load;
  load.memory_limit = options.memory_limit;
  load.work_limit = load.node_work_limit = 1 << 20;
  return load;
}

/// Each is run.
constexpr size_t kMostSamples = 50;

std::string text_fault(const std::string& text, bool json) {
  if (run::printable_lines(text) != text) return "a terminal acts on " + run::printable(text);
  if (json && !run::Json::accept(text)) return "no JSON: " + text;
  return "";
}

}  // namespace

std::string report_fault(Span<const uint8_t> file, uint32_t choice, int* reported) {
  run::Options options = options_of(choice);
  TextStream out, err;
  run::Surroundings surroundings;
  surroundings.open = [&] {
    Result<Program> program = Program::load(file, default_ops(), small_limits(options));
    run::require(program.status());
    const Method method = program->method(choice / kFirstMethodBit % program->method_count());
    if (method.sample_count() > kMostSamples)
      throw run::Failure(run::ExitCode::kUsage, "too many samples");
    options.method = method.name();
    if (method.sample_count() == 0) options.bench_seconds = kLeastBenchmark;
    return std::move(*program);
  };
  surroundings.backend = (choice & kOnCpu) != 0 ? cpu_backend() : reference_backend();
  surroundings.out = out.stream();
  surroundings.err = err.stream();
  surroundings.phase = [](const std::string&) {};
  bool whole = true;
  try {
    run::run_bundle(options, surroundings);
    if (reported != nullptr) ++*reported;
  } catch (const run::Failure& failure) {
    whole = false;
    if (run::printable_lines(failure.what()) != failure.what())
      return "a terminal acts on " + run::printable(failure.what());
  }
  const std::string fault = text_fault(out.text(), options.json && whole);
  return fault.empty() ? text_fault(err.text(), false) : fault;
}

}  // namespace lazyrt::fuzz
