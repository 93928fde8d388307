#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <optional>

#include "host_tracer/compile/exporter.h"
#include "lazyrt/runtime.h"
#include "tests/capture/captured_programs.h"

namespace lazyrt {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class CaptureExport : public testing::TestWithParam<bool> {
 protected:
  void TearDown() override { std::filesystem::remove(options_.path); }

  void export_all(const std::vector<Trace>& traces) {
    options_.path = (std::filesystem::temp_directory_path() /
                     ("lazyrt_capture_export_" + std::to_string(getpid()) + ".lzb"))
                        .string();
    auto report = export_traces(traces, default_ops(), options_);
    ASSERT_TRUE(report.ok()) << report.failure().text;
    report_ = *report;
    program_.emplace(Program::open(options_.path.c_str(), default_ops()));
    ASSERT_TRUE(program_->ok()) << program_->status().message();
  }
  Method method() const { return (*program_)->method(size_t{0}); }
  Session session() const {
    SessionOptions options;
    options.backend = GetParam() ? cpu_backend() : reference_backend();
    auto session = Session::create(method(), options);
    EXPECT_TRUE(session.ok()) << session.status().message();
    return std::move(*session);
  }

  ExportOptions options_;
  ExportReport report_;
  std::optional<Result<Program>> program_;
};

void expect_close(const TensorView& got, const TensorView& wanted) {
  ASSERT_EQ(got.dtype, wanted.dtype);
  ASSERT_EQ(got.shape, wanted.shape);
  for (int64_t i = 0; i < got.numel(); ++i) {
    const float x = got.as<float>()[i], y = wanted.as<float>()[i];
    EXPECT_NEAR(x, y, 1e-5f * std::fmax(1.0f, std::fabs(y))) << i;
  }
}

TEST_P(CaptureExport, PathsOfOneModelAreVariantsOverOneWeight) {
  export_all({test::early_exit(2, 1), test::early_exit(2, -1), test::early_exit(2, 0.5f),
              test::early_exit(3, 2)});
  ASSERT_EQ(report_.variants.size(), 3u);
  EXPECT_EQ(report_.variants[0].samples, (std::vector<size_t>{0, 2}));
  Session session = this->session();
  const Method m = method();
  ASSERT_EQ(m.sample_count(), 4u);
  for (size_t s = 0; s < 4; ++s) {
    ASSERT_TRUE(session.set_input(0, m.sample_input(s, 0)).ok());
    const Status ran = session.run();
    ASSERT_TRUE(ran.ok()) << ran.message();
    EXPECT_EQ(*session.variant(), m.sample_variant(s));
    expect_close(*session.output(0), m.sample_output(s, 0));
  }
  std::vector<float> down(12, -1);
  const TensorView x = {down.data(), DType::kFloat32, {3, 4}};
  ASSERT_TRUE(session.set_input(0, x).ok());
  const Status status = session.run();
  EXPECT_EQ(status.error(), Error::kGuardFailed);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("0: 'x' is f32[2,4]"), HasSubstr("2: bool(")));
}

TEST_P(CaptureExport, ABrokenGuardNamesTheUsersLine) {
  export_all({test::early_exit(2, 1)});
  ASSERT_EQ(method().guard_count(), 1u);
  Session session = this->session();
  const float down[8] = {-1, -1, -1, -1, -1, -1, -1, -1};
  ASSERT_TRUE(session.set_input(0, down, sizeof(down)).ok());
  const Status status = session.run();
  EXPECT_EQ(status.error(), Error::kGuardFailed);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("was true when exported, now false"), HasSubstr("(model.py:7)")));
}

TEST_P(CaptureExport, AWrittenBufferIsState) {
  export_all({test::growing_scale()});
  ASSERT_EQ(method().state_count(), 1u);
  EXPECT_STREQ(method().state(0).name, "scale");
  Session session = this->session();
  for (int run = 0; run < 3; ++run) {
    ASSERT_TRUE(session.set_input(0, method().sample_input(0, 0)).ok());
    const Status ran = session.run();
    ASSERT_TRUE(ran.ok()) << ran.message();
    if (run == 0) expect_close(*session.output(0), method().sample_output(0, 0));
    EXPECT_EQ(session.output(0)->as<float>()[2], 3.0f * static_cast<float>(5 + run));
  }
}

TEST(CaptureSamples, ABufferThatOneAsksAndAnotherWritesIsRefused) {
  const auto report =
      export_traces({test::level_of_a_call(true), test::level_of_a_call(false)}, default_ops(), {});
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.failure().text, HasSubstr("depends on what 'level' holds"));
}

INSTANTIATE_TEST_SUITE_P(Backends, CaptureExport, testing::Bool(), [](const auto& param) {
  return std::string(param.param ? "cpu" : "reference");
});

}  // namespace
}  // namespace lazyrt
