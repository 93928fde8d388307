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

Session make_session(const Method& method, const Backend* backend) {
  SessionOptions options;
  options.backend = backend;
  Result<Session> session = Session::create(method, options);
  EXPECT_TRUE(session.ok()) << session.status().message();
  return std::move(*session);
}

/// Sample s of `samples`, which may be another method of the same interface.
void run_sample(Session* session, const Method& samples, size_t s) {
  ASSERT_TRUE(session->reset_state().ok());
  for (size_t i = 0; i < samples.input_count(); ++i) {
    ASSERT_TRUE(session->set_input(i, samples.sample_input(s, i)).ok());
  }
  const Status status = session->run();
  ASSERT_TRUE(status.ok()) << status.message();
  for (size_t i = 0; i < samples.output_count(); ++i) {
    const TensorView expected = samples.sample_output(s, i);
    EXPECT_TRUE(run::compare(*session->output(i), expected, {1e-6, 1e-4}).ok())
        << samples.output(i).name;
  }
}

void run_samples(const Method& method, const Backend* backend) {
  Session session = make_session(method, backend);
  for (size_t s = 0; s < method.sample_count(); ++s) {
    run_sample(&session, method, s);
    ASSERT_EQ(*session.variant(), method.sample_variant(s));
  }
}

/// The file whose extents vary of "folder/name@3x9.lzb"; empty: the file is none of sizes.
std::string sized_file_of(const std::string& file) {
  const size_t at = file.rfind('@');
  return at == std::string::npos ? "" : file.substr(0, at) + ".lzb";
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

TEST(Golden, BundlesWhoseExtentsVaryGiveWhatThoseOfFixedOnesGive) {
  size_t pairs = 0;
  for (const std::string& file : golden_files()) {
    const std::string sized = sized_file_of(file);
    if (sized.empty()) continue;
    SCOPED_TRACE(file);
    const Result<Program> fixed = Program::open(file.c_str(), default_ops());
    const Result<Program> any = Program::open(sized.c_str(), default_ops());
    ASSERT_TRUE(fixed.ok() && any.ok());
    for (const Backend* backend : {reference_backend(), cpu_backend()}) {
      Session session = make_session(any->method(size_t{0}), backend);
      run_sample(&session, fixed->method(size_t{0}), 0);
      ++pairs;
    }
  }
  EXPECT_GE(pairs, 8u);
}

}  // namespace
}  // namespace lazyrt
