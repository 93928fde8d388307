#include "host_tracer/exporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "host_tracer/aten/trace_builder.h"

namespace lazyrt {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Exporter : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = std::filesystem::temp_directory_path() /
            ("lazyrt_exporter_" + std::to_string(getpid()) + ".lzb");
    options_.path = path_.string();
  }
  void TearDown() override { std::filesystem::remove(path_); }

  std::filesystem::path path_;
  ExportOptions options_;
};

TraceBuilder::Args conv_args(TraceValueId x, TraceValueId w, TraceArg bias) {
  return {{"input", t(x)},         {"weight", t(w)},
          {"bias", bias},          {"stride", Dims{1, 1}},
          {"padding", Dims{0, 0}}, {"dilation", Dims{1, 1}},
          {"transposed", false},   {"output_padding", Dims{0, 0}},
          {"groups", int64_t{1}}};
}

/// conv 2->2, batch norm, relu, conv, mean over the image.
TraceBuilder small_cnn() {
  TraceBuilder b;
  const TraceValueId x = b.input({1, 2, 2, 2});
  const TraceValueId w = b.constant({2, 2, 1, 1}, {1, 2, 3, 4});
  const auto vector = [&](double u, double v) { return b.constant({2}, {u, v}); };
  const TraceValueId y = b.call("convolution", conv_args(x, w, std::monostate()), {1, 2, 2, 2});
  const TraceValueId z = b.call("batch_norm",
                                {{"input", t(y)},
                                 {"weight", t(vector(1, 2))},
                                 {"bias", t(vector(0, 1))},
                                 {"running_mean", t(vector(1, 1))},
                                 {"running_var", t(vector(1, 4))},
                                 {"training", false},
                                 {"momentum", 0.1},
                                 {"eps", 0.0},
                                 {"cudnn_enabled", false}},
                                {1, 2, 2, 2});
  const TraceValueId r = b.call("relu", {{"self", t(z)}}, {1, 2, 2, 2});
  const TraceValueId v = b.call("convolution", conv_args(r, w, t(vector(0, -30))), {1, 2, 2, 2});
  b.output(
      b.call("mean.dim",
             {{"self", t(v)}, {"dim", Dims{2, 3}}, {"keepdim", false}, {"dtype", std::monostate()}},
             {1, 2}));
  return b;
}

TEST_F(Exporter, FromTraceToAnswer) {
  auto report = export_trace(small_cnn().trace, default_ops(), options_);
  ASSERT_TRUE(report.ok()) << report.failure().text;
  std::vector<std::string> ops;
  for (const ExportedNode& node : report->nodes) ops.push_back(node.op);
  EXPECT_THAT(ops, ElementsAre("permute", "conv2d", "conv2d", "reduce"));
  EXPECT_THAT(report->nodes[1].attrs, HasSubstr("min=0"));
  EXPECT_EQ(report->permutes, 1u);
  EXPECT_GE(report->arena_bytes, report->arena_lower_bound);
  EXPECT_EQ(report->file.file_bytes, std::filesystem::file_size(path_));

  auto program = Program::open(options_.path.c_str(), default_ops());
  ASSERT_TRUE(program.ok()) << program.status().message();
  SessionOptions options;
  options.backend = reference_backend();
  auto session = Session::create(program->method(size_t{0}), options);
  ASSERT_TRUE(session.ok()) << session.status().message();
  const float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  ASSERT_TRUE(session->set_input(0, x, sizeof(x)).ok());
  ASSERT_TRUE(session->run().ok());
  // conv: [11 14 17 20], [23 30 37 44]; norm: y-1, y; relu; conv: r0 + 2 r1, 3 r0 + 4 r1 - 30.
  const auto y = session->output(0);
  ASSERT_TRUE(y.ok());
  EXPECT_FLOAT_EQ(y->as<float>()[0], 14.5f + 2 * 33.5f);
  EXPECT_FLOAT_EQ(y->as<float>()[1], 3 * 14.5f + 4 * 33.5f - 30);
}

TEST_F(Exporter, CallsBackForProgressAndDumps) {
  std::vector<std::string> stages, dumps;
  options_.progress = [&](const std::string& stage, int64_t, int64_t) { stages.push_back(stage); };
  options_.after_pass = [&](const std::string& pass, const Graph&) { dumps.push_back(pass); };
  auto report = export_trace(small_cnn().trace, default_ops(), options_);
  ASSERT_TRUE(report.ok());
  EXPECT_THAT(stages, Contains("import"));
  EXPECT_THAT(stages, Contains("passes: assign_layout"));
  EXPECT_THAT(stages, Contains("write"));
  ASSERT_EQ(dumps.size(), default_pipeline().size() + 1);
  EXPECT_EQ(dumps[0], "import");
  for (const std::string& pass : dumps)
    EXPECT_THAT(dump_points(default_pipeline()), Contains(pass));
  ASSERT_EQ(report->times.size(), 4u);
}

TEST_F(Exporter, WritesNothingForWhatIsNotSupported) {
  TraceBuilder b = small_cnn();
  b.output(b.call("frobnicate", {{"self", t(0)}}, {1, 2, 2, 2}));
  auto report = export_trace(b.trace, default_ops(), options_);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.failure().error, Error::kUnsupported);
  EXPECT_THAT(report.failure().text, HasSubstr("aten::frobnicate"));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(Exporter, PassesOfTheUser) {
  options_.pipeline.push_back({"drop_everything", [](Graph&) -> Outcome<size_t> {
                                 return Failure{Error::kUnsupported, "not today"};
                               }});
  auto report = export_trace(small_cnn().trace, default_ops(), options_);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.failure().text, "pass drop_everything: not today");
}

}  // namespace
}  // namespace lazyrt
