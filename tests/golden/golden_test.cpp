// Bundles of every released format version load and run, forever.

#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "lazyrt/runtime.h"
#include "platforms/posix/lazy_run/compare.h"

namespace lazyrt {
namespace {

std::vector<std::string> golden_files() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(LAZYRT_GOLDEN)) {
    if (entry.path().extension() == ".lzb") out.push_back(entry.path().string());
  }
  return out;
}

void run_samples(const Method& method, const Backend* backend) {
  SessionOptions options;
  options.backend = backend;
  Result<Session> session = Session::create(method, options);
  ASSERT_TRUE(session.ok()) << session.status().message();
  for (size_t s = 0; s < method.sample_count(); ++s) {
    ASSERT_TRUE(session->reset_state().ok());
    for (size_t i = 0; i < method.input_count(); ++i) {
      ASSERT_TRUE(session->set_input(i, method.sample_input(s, i)).ok());
    }
    const Status status = session->run();
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_EQ(*session->variant(), method.sample_variant(s));
    for (size_t i = 0; i < method.output_count(); ++i) {
      const TensorView expected = method.sample_output(s, i);
      EXPECT_TRUE(run::compare(*session->output(i), expected, {1e-6, 1e-4}).ok())
          << method.output(i).name;
    }
  }
}

TEST(Golden, EveryBundleRunsOnEveryBackend) {
  const std::vector<std::string> files = golden_files();
  EXPECT_FALSE(files.empty());
  for (const std::string& file : files) {
    SCOPED_TRACE(file);
    LoadOptions options;
    options.check_data = true;
    const Result<Program> program = Program::open(file.c_str(), default_ops(), options);
    ASSERT_TRUE(program.ok()) << program.status().message();
    for (size_t m = 0; m < program->method_count(); ++m) {
      EXPECT_GT(program->method(m).sample_count(), 0u);
      for (const Backend* backend : {reference_backend(), cpu_backend()})
        run_samples(program->method(m), backend);
    }
  }
}

}  // namespace
}  // namespace lazyrt
