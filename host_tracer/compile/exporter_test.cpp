#include "host_tracer/compile/exporter.h"

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

std::string verdict_in(const std::string& path) {
  auto program = Program::open(path.c_str(), default_ops());
  for (size_t i = 0; program.ok() && i < program->info_count(); ++i) {
    if (std::string(program->info(i).key) == kVerdictKey) return program->info(i).value;
  }
  return "";
}

TEST_F(Exporter, TheVerdictIsInTheBundle) {
  Trace trace = small_cnn().trace;
  ASSERT_TRUE(export_trace(trace, default_ops(), options_).ok());
  EXPECT_EQ(verdict_in(options_.path), "SOUND");
  Trace warned = trace;
  warned.findings.push_back({Severity::kWarning, "input-written", "", "", Source{}});
  ASSERT_TRUE(export_traces({trace, warned}, default_ops(), options_).ok());
  EXPECT_EQ(verdict_in(options_.path), "SPECIALIZED");
  warned.findings.back().allowed = true;
  ASSERT_TRUE(export_traces({warned, trace}, default_ops(), options_).ok());
  EXPECT_EQ(verdict_in(options_.path), "ALLOWED");
}

Dims all_axes(const Dims& shape) {
  Dims axes(shape.size());
  for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int64_t>(i);
  return axes;
}

/// "if x.sum() > 0: y = x * factor else: y = relu(x)", with the model's weight w; the buffer
/// "steps" counts its runs on the first path. `sample` steers it.
TraceBuilder branching(const Dims& shape, const Values& sample, double factor = 2) {
  TraceBuilder b;
  const TraceValueId x = b.input(shape);
  double sum = 0;
  for (double v : sample) sum += v;
  const bool positive = sum > 0;
  const TraceValueId total = b.call(
      "sum.dim_IntList",
      {{"self", t(x)}, {"dim", all_axes(shape)}, {"keepdim", false}, {"dtype", std::monostate()}},
      {});
  const TraceValueId more =
      b.call("gt.Scalar", {{"self", t(total)}, {"other", 0.0}}, {}, DType::kBool);
  b.trace.guards.push_back({more, positive, "bool(x.sum() > 0)", {"", "model.py", 12, ""}});
  const TraceValueId w = b.constant({2}, {10, 20});
  const TraceValueId steps = b.constant({}, {7});
  b.trace.values[static_cast<size_t>(steps)].name = "steps";
  b.trace.values[static_cast<size_t>(steps)].leaf = LeafKind::kBuffer;
  TraceValueId y;
  if (positive) {
    b.trace.values[static_cast<size_t>(steps)].leaf = LeafKind::kState;
    const TraceValueId next =
        b.call("add.Scalar", {{"self", t(steps)}, {"other", 1.0}, {"alpha", 1.0}}, {});
    b.trace.states.push_back({steps, next});
    y = b.call("mul.Scalar", {{"self", t(x)}, {"other", factor}}, shape);
  } else {
    y = b.call("relu", {{"self", t(x)}}, shape);
  }
  y = b.call("add.Tensor", {{"self", t(y)}, {"other", t(w)}, {"alpha", 1.0}}, shape);
  b.output(b.call("add.Tensor", {{"self", t(y)}, {"other", t(steps)}, {"alpha", 1.0}}, shape));
  const auto tensor = [&](const Values& values) {
    auto bytes = std::make_shared<std::vector<uint8_t>>();
    for (double v : values) append_element(DType::kFloat32, v, *bytes);
    return SampleTensor{DType::kFloat32, shape, {bytes, bytes->data(), bytes->size()}};
  };
  Values out;
  for (size_t i = 0; i < sample.size(); ++i) {
    const double on_path = positive ? sample[i] * factor : std::max(sample[i], 0.0);
    out.push_back(on_path + (i % 2 == 0 ? 10 : 20) + 7);
  }
  b.trace.sample_inputs.push_back(tensor(sample));
  b.trace.sample_outputs.push_back(tensor(out));
  return b;
}

/// Every sample of the bundle gives its outputs, by the variant it was traced with.
void expect_samples(const std::string& path, const Backend* backend, size_t samples,
                    size_t variants) {
  auto program = Program::open(path.c_str(), default_ops());
  ASSERT_TRUE(program.ok()) << program.status().message();
  const Method m = program->method(size_t{0});
  ASSERT_EQ(m.sample_count(), samples);
  ASSERT_EQ(m.variant_count(), variants);
  SessionOptions options;
  options.backend = backend;
  auto session = Session::create(m, options);
  ASSERT_TRUE(session.ok()) << session.status().message();
  for (size_t s = 0; s < samples; ++s) {
    ASSERT_TRUE(session->reset_state().ok());
    for (size_t i = 0; i < m.input_count(); ++i)
      ASSERT_TRUE(session->set_input(i, m.sample_input(s, i)).ok());
    const Status ran = session->run();
    ASSERT_TRUE(ran.ok()) << ran.message();
    EXPECT_EQ(*session->variant(), m.sample_variant(s));
    const TensorView got = *session->output(0), wanted = m.sample_output(s, 0);
    ASSERT_EQ(got.shape, wanted.shape);
    for (int64_t k = 0; k < got.numel(); ++k)
      EXPECT_FLOAT_EQ(got.as<float>()[k], wanted.as<float>()[k]) << "sample " << s;
  }
}

TEST_F(Exporter, AGuardAndAStateReachTheSession) {
  const TraceBuilder b = branching({2, 2}, {1, 2, -1, 0});
  auto report = export_trace(b.trace, default_ops(), options_);
  ASSERT_TRUE(report.ok()) << report.failure().text;
  ASSERT_EQ(report->variants.size(), 1u);
  EXPECT_EQ(report->variants[0].guards, 1u);
  for (const Backend* backend : {cpu_backend(), reference_backend()})
    expect_samples(options_.path, backend, 1, 1);
  auto program = Program::open(options_.path.c_str(), default_ops());
  ASSERT_TRUE(program.ok()) << program.status().message();
  SessionOptions options;
  options.backend = cpu_backend();
  auto session = Session::create(program->method(size_t{0}), options);
  ASSERT_TRUE(session.ok()) << session.status().message();
  const float x[4] = {1, 2, -1, 0}, down[4] = {-1, -2, -1, 0};
  ASSERT_TRUE(session->set_input(0, x, sizeof(x)).ok());
  for (int run = 0; run < 3; ++run) {
    EXPECT_EQ(*session->state(0)->as<float>(), 7 + run);
    ASSERT_TRUE(session->run().ok());
    EXPECT_FLOAT_EQ(session->output(0)->as<float>()[0], 2 + 10 + 7 + static_cast<float>(run));
  }
  ASSERT_TRUE(session->set_input(0, down, sizeof(down)).ok());
  const Status status = session->run();
  EXPECT_EQ(status.error(), Error::kGuardFailed);
  EXPECT_THAT(status.message(),
              HasSubstr("bool(x.sum() > 0) was true when exported, now false (model.py:12)"));
}

TEST_F(Exporter, TracesBecomeVariantsOverOneSetOfWeights) {
  const std::vector<Trace> traces = {
      branching({2, 2}, {1, 2, -1, 0}).trace, branching({2, 2}, {-1, -2, 1, 0}).trace,
      branching({2, 2}, {5, 5, 5, 5}).trace, branching({1, 2}, {3, 4}).trace};
  auto report = export_traces(traces, default_ops(), options_);
  ASSERT_TRUE(report.ok()) << report.failure().text;
  ASSERT_EQ(report->variants.size(), 3u);
  EXPECT_THAT(report->variants[0].samples, ElementsAre(0, 2));
  EXPECT_THAT(report->variants[1].samples, ElementsAre(1));
  EXPECT_THAT(report->variants[2].samples, ElementsAre(3));
  EXPECT_EQ(report->variants[0].difference, "");
  EXPECT_THAT(report->variants[1].difference, HasSubstr("relu"));
  EXPECT_THAT(report->variants[2].difference, HasSubstr("f32[2,2], there f32[1,2]"));
  EXPECT_GT(report->file.shared_bytes, 0u);
  for (const Backend* backend : {cpu_backend(), reference_backend()})
    expect_samples(options_.path, backend, 4, 3);
}

TEST_F(Exporter, ABufferThatOnePathWritesIsNoConstantOnAnother) {
  const std::vector<Trace> traces = {branching({2, 2}, {-1, -2, 1, 0}).trace,
                                     branching({2, 2}, {1, 2, -1, 0}).trace};
  auto report = export_traces(traces, default_ops(), options_);
  ASSERT_TRUE(report.ok()) << report.failure().text;
  auto program = Program::open(options_.path.c_str(), default_ops());
  ASSERT_TRUE(program.ok()) << program.status().message();
  SessionOptions options;
  options.backend = reference_backend();
  auto session = Session::create(program->method(size_t{0}), options);
  ASSERT_TRUE(session.ok()) << session.status().message();
  const float up[4] = {1, 1, 1, 1}, down[4] = {-1, -1, -1, -1};
  ASSERT_TRUE(session->set_input(0, up, sizeof(up)).ok());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(session->run().ok());
  ASSERT_TRUE(session->set_input(0, down, sizeof(down)).ok());
  ASSERT_TRUE(session->run().ok());
  EXPECT_EQ(*session->variant(), 0u);
  EXPECT_FLOAT_EQ(session->output(0)->as<float>()[0], 10 + 7 + 3) << "three runs were counted";
}

TEST_F(Exporter, ATraceThatWouldNeverBeChosenIsRefused) {
  const std::vector<Trace> traces = {branching({2, 2}, {1, 2, -1, 0}, 2).trace,
                                     branching({2, 2}, {1, 2, 3, 4}, 3).trace};
  auto report = export_traces(traces, default_ops(), options_);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.failure().error, Error::kInvalidArgument);
  EXPECT_THAT(report.failure().text, HasSubstr("they cannot be told apart at run time"));
  EXPECT_THAT(report.failure().text, HasSubstr("aten::mul.Scalar"));
  EXPECT_THAT(report.failure().text, HasSubstr("argument 'other'"));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(Exporter, TracesOfAnotherInterfaceAreRefusedByWhatDiffers) {
  const Trace first = branching({2, 2}, {1, 2, -1, 0}).trace;
  const auto refusal = [&](Trace second) {
    auto report = export_traces({first, std::move(second)}, default_ops(), options_);
    return report.ok() ? "" : report.failure().text;
  };
  Trace other = first;
  other.values[0].name = "z";
  EXPECT_EQ(refusal(other),
            "sample 2 does not have the interface of sample 1: input 0 is 'z' instead of 'x0'");
  other = first;
  other.values[0].dtype = DType::kInt64;
  EXPECT_THAT(refusal(other), HasSubstr("input 'x0' is i64 instead of f32"));
  other = first;
  other.outputs.push_back(other.outputs[0]);
  EXPECT_THAT(refusal(other), HasSubstr("2 outputs instead of 1"));
  other = first;
  other.outputs[0] = {"", kNoTraceValue, int64_t{3}};
  EXPECT_THAT(refusal(other), HasSubstr("output 0 is '' (an int) instead of '' (f32)"));
  other = first;
  other.values[static_cast<size_t>(other.states[0].leaf)].constant =
      branching({2, 2}, {1, 2, 3, 4}).trace.sample_inputs[0].data;
  EXPECT_THAT(refusal(other), HasSubstr("buffer 'steps' does not begin with the same content"));
}

TEST_F(Exporter, AGuardThatConstantsContradictFails) {
  TraceBuilder b = small_cnn();
  b.trace.guards.push_back({b.constant({}, {3}), 4.0, "w.item()", {"", "model.py", 5, ""}});
  auto report = export_trace(b.trace, default_ops(), options_);
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.failure().text, HasSubstr("w.item() was 4 in the trace"));
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
