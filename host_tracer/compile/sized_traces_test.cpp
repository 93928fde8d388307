#include "host_tracer/compile/sized_traces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "host_tracer/aten/trace_builder.h"
#include "host_tracer/trace/eager_reference.h"

namespace lazyrt {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

SampleTensor sample_of(const Dims& shape) {
  SampleTensor sample = {DType::kFloat32, shape, {}};
  int64_t n = 1;
  for (const int64_t size : shape) n *= size;
  auto bytes = std::make_shared<std::vector<uint8_t>>();
  for (int64_t i = 0; i < n; ++i) append_element(DType::kFloat32, static_cast<double>(i), *bytes);
  sample.data = {bytes, bytes->data(), bytes->size()};
  return sample;
}

std::vector<float> floats_of(const SampleTensor& tensor) {
  std::vector<float> values(tensor.data.bytes / sizeof(float));
  std::memcpy(values.data(), tensor.data.data, tensor.data.bytes);
  return values;
}

/// x * w / sqrt(n) of x [n,2], and a program that raises at multiples of `refused`.
class Scaled {
 public:
  explicit Scaled(int64_t refused = 1000) : refused_(refused) {}

  Outcome<Trace> trace(const std::vector<SampleTensor>& inputs, bool compared) const {
    const int64_t n = inputs[0].shape[0];
    if (n % refused_ == 0) return Failure{Error::kUnsupported, "the capture failed"};
    TraceBuilder b;
    const TraceValueId x = b.input({n, 2});
    const TraceValueId w = b.constant({2}, {10, 20});
    b.trace.values.back().name = "w";
    const TraceValueId y = b.call("mul.Tensor", {{"self", t(x)}, {"other", t(w)}}, {n, 2});
    const TraceValueId root = b.number(Scalar(std::sqrt(static_cast<double>(n))));
    b.output(b.call("div.Tensor", {{"self", t(y)}, {"other", t(root)}}, {n, 2}));
    b.trace.sample_inputs = inputs;
    if (compared) b.trace.eager = reference();
    return b.trace;
  }

  std::shared_ptr<const EagerReference> reference() const {
    auto eager = std::make_shared<EagerReference>();
    eager->call = [refused = refused_](const std::vector<SampleTensor>& inputs, bool) {
      EagerRun run;
      if (inputs[0].shape[0] % refused == 0) run.raised = "no such sizes\nat line 3";
      return run;
    };
    return eager;
  }

  Outcome<SizedTraces> capture(const Dims& shape, const std::vector<DynamicDim>& dims,
                               const std::vector<SampleInputs>& more = {}) {
    SizedCapture program;
    program.capture = [this](const std::vector<SampleTensor>& inputs, bool compared) {
      return trace(inputs, compared);
    };
    return capture_sizes(*trace({sample_of(shape)}, true), dims, program, more);
  }

 private:
  int64_t refused_;
};

/// Removed with this.
struct TemporaryFile {
  explicit TemporaryFile(const std::string& name)
      : path(std::filesystem::temp_directory_path() /
             ("lazyrt_" + name + "_" + std::to_string(getpid()) + ".lzb")) {}
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { std::filesystem::remove(path); }
  const std::string path;
};

std::string failure_of(const Dims& shape, const std::vector<DynamicDim>& dims) {
  const auto sized = Scaled().capture(shape, dims);
  return sized.ok() ? "" : sized.failure().text;
}

TEST(Stretched, BothEndsStay) {
  const SampleTensor x = sample_of({2, 3});
  const auto wide = stretched(x, 1, 5), tall = stretched(x, 0, 3), one = stretched(x, 1, 1);
  ASSERT_TRUE(wide.ok() && tall.ok() && one.ok());
  EXPECT_THAT(floats_of(*wide), ElementsAre(0, 0, 1, 2, 2, 3, 3, 4, 5, 5));
  EXPECT_THAT(floats_of(*tall), ElementsAre(0, 1, 2, 0, 1, 2, 3, 4, 5));
  EXPECT_THAT(floats_of(*one), ElementsAre(0, 3));
  EXPECT_EQ(wide->shape, (Dims{2, 5}));
  EXPECT_FALSE(stretched(sample_of({0}), 0, 2).ok());
  EXPECT_EQ(stretched(x, 0, int64_t{1} << 40).failure().error, Error::kLimitExceeded);
}

TEST(SizedTraces, SamplesBoundANameAndAreComparedAtTheirSizes) {
  const std::vector<SampleInputs> more = {{sample_of({11, 2})}, {sample_of({3, 2})}};
  const auto sized = Scaled().capture({3, 2}, {{"x0", 0, "rows"}}, more);
  ASSERT_TRUE(sized.ok()) << sized.failure().text;
  const DimSymbol& rows = sized->dynamic.shapes.symbols[0];
  EXPECT_EQ(rows.min, 3);
  EXPECT_EQ(rows.max, 11);
  const size_t count = sized->traces.size();
  const Trace& longer = sized->traces[count - 2];
  EXPECT_EQ(longer.values[static_cast<size_t>(longer.inputs[0])].shape, (Dims{11, 2}));
  EXPECT_EQ(floats_of(longer.sample_inputs[0]), floats_of(more[0][0])) << "not stretched";
  EXPECT_EQ(longer.eager->sample, "sample 1");
  EXPECT_EQ(sized->traces[count - 1].eager->sample, "sample 2");
  EXPECT_EQ(sized->traces[0].eager->sample, "");
}

TEST(SizedTraces, SamplesThatDifferOtherwiseAreRefused) {
  const auto refused = [](const SampleInputs& inputs) {
    const auto sized = Scaled().capture({3, 2}, {{"x0", 0, "rows", 1, 40}}, {inputs});
    return sized.ok() ? "" : sized.failure().text;
  };
  EXPECT_EQ(refused({sample_of({40, 2})}), "");
  EXPECT_THAT(refused({sample_of({41, 2})}), HasSubstr("'rows' is 41 in sample 1"));
  EXPECT_THAT(refused({sample_of({4, 3})}), HasSubstr("dim 1 is 2 in the first sample and 3"));
  EXPECT_THAT(refused({sample_of({4})}), HasSubstr("another type or rank in sample 1"));
  EXPECT_THAT(refused({}), HasSubstr("sample 1 has other inputs"));
}

TEST(SizedTraces, OnlyWhatIsComparedKeepsItsProgram) {
  const auto sized = Scaled().capture({3, 2}, {{"x0", 0, "rows", 1, 40}});
  ASSERT_TRUE(sized.ok()) << sized.failure().text;
  const auto& points = sized->dynamic.points;
  EXPECT_THAT(sized->dynamic.sample, ElementsAre(3));
  ASSERT_GT(sized->traces.size(), points.size() + 1);
  const auto checked = check_points(sized->dynamic.shapes.symbols, 3, 1);
  size_t compared = 0;
  for (size_t i = 0; i < sized->traces.size(); ++i) {
    const Trace& trace = sized->traces[i];
    const SizePoint size = {trace.values[static_cast<size_t>(trace.inputs[0])].shape[0]};
    if (i > 0 && i <= points.size()) {
      EXPECT_EQ(size, points[i - 1]);
    }
    const bool is_checked = std::find(checked.begin(), checked.end(), size) != checked.end();
    EXPECT_EQ(trace.eager != nullptr, i == 0 || is_checked) << size[0];
    EXPECT_EQ(trace.sample_inputs.size(), trace.eager ? 1u : 0u);
    EXPECT_EQ(trace.values[1].constant.data, sized->traces[0].values[1].constant.data);
    compared += trace.eager ? 1 : 0;
  }
  EXPECT_GE(compared, 4u);
}

TEST(SizedTraces, MakeABundleOfAnySize) {
  const auto sized = Scaled().capture({3, 2}, {{"x0", -2, "rows", 1, 40}});
  ASSERT_TRUE(sized.ok()) << sized.failure().text;
  const TemporaryFile file("sized");
  ExportOptions options;
  options.path = file.path;
  options.dynamic = sized->dynamic;
  const auto report = export_traces(sized->traces, default_ops(), options);
  ASSERT_TRUE(report.ok()) << report.failure().text;
  EXPECT_FALSE(report->size_rules.empty());
  auto program = Program::open(file.path.c_str(), default_ops());
  ASSERT_TRUE(program.ok()) << program.status().message();
  SessionOptions session_options;
  session_options.backend = reference_backend();
  auto session = Session::create(program->method(size_t{0}), session_options);
  ASSERT_TRUE(session.ok()) << session.status().message();
  const std::vector<float> x(32, 1);
  ASSERT_TRUE(session->set_input(0, x.data(), x.size() * sizeof(float)).ok());
  ASSERT_TRUE(session->run().ok());
  const auto y = session->output(0);
  ASSERT_TRUE(y.ok());
  EXPECT_EQ(y->shape, Shape({16, 2}));
  EXPECT_FLOAT_EQ(y->as<float>()[31], 5);
}

/// x * 0.25 beyond 20 rows, x * 0.75 up to there; beyond 10 its relu.
Outcome<Trace> trace_in_steps(const std::vector<SampleTensor>& inputs, bool compared) {
  const int64_t n = inputs[0].shape[0];
  TraceBuilder b;
  const TraceValueId x = b.input({n, 2});
  const TraceValueId scale = b.number(Scalar(n > 20 ? 0.25 : 0.75));
  TraceValueId y = b.call("mul.Tensor", {{"self", t(x)}, {"other", t(scale)}}, {n, 2});
  if (n > 10) y = b.call("relu", {{"self", t(y)}}, {n, 2});
  b.output(y);
  b.trace.sample_inputs = inputs;
  if (compared) b.trace.eager = Scaled().reference();
  return b.trace;
}

TEST(SizedTraces, BothEndsOfEachRangeAreCompared) {
  SizedCapture program;
  program.capture = trace_in_steps;
  auto sized = capture_sizes(*trace_in_steps({sample_of({3, 2})}, true), {{"x0", 0, "rows", 1, 40}},
                             program);
  ASSERT_TRUE(sized.ok()) << sized.failure().text;
  const TemporaryFile file("ranges");
  ExportOptions options;
  options.path = file.path;
  options.dynamic = sized->dynamic;
  auto report = export_traces(sized->traces, default_ops(), options);
  ASSERT_TRUE(report.ok()) << report.failure().text;
  std::vector<std::string> ranges;
  for (const ExportedVariant& variant : report->variants) ranges.push_back(variant.sizes);
  EXPECT_THAT(ranges, ElementsAre("rows: 1 to 10", "rows: 11 to 20", "rows: 21 to 40"));
  take_more_traces(&*report, &sized->traces);
  std::set<int64_t> compared;
  for (const Trace& trace : sized->traces) {
    if (trace.eager) compared.insert(trace.sample_inputs[0].shape[0]);
  }
  for (const int64_t end : {1, 10, 11, 20, 21, 40}) EXPECT_EQ(compared.count(end), 1u) << end;
}

TEST(SizedTraces, AProgramThatRaisesIsNamedWithItsSizes) {
  const auto sized = Scaled(5).capture({3, 2}, {{"x0", 0, "rows", 1, 40}});
  ASSERT_FALSE(sized.ok());
  EXPECT_EQ(sized.failure().error, Error::kInvalidArgument);
  EXPECT_THAT(sized.failure().text,
              HasSubstr("at rows=5 the program raises: the capture failed\n"));
  EXPECT_THAT(sized.failure().text, HasSubstr("Narrow the range"));
}

TEST(SizedTraces, WhatOnlyTheCaptureCannotDoIsNotTheProgramsFault) {
  const Scaled scaled;
  SizedCapture program;
  program.capture = [&](const std::vector<SampleTensor>&, bool) -> Outcome<Trace> {
    return Failure{Error::kUnsupported, "no such operator"};
  };
  const auto sized =
      capture_sizes(*scaled.trace({sample_of({3, 2})}, true), {{"x0", 0, "rows", 3, 5}}, program);
  ASSERT_FALSE(sized.ok());
  EXPECT_EQ(sized.failure().error, Error::kUnsupported);
  EXPECT_EQ(sized.failure().text, "at rows=3: no such operator");
}

TEST(SizedTraces, FindingsAtOtherSizesAreErrorsThere) {
  const Scaled scaled;
  SizedCapture program;
  program.capture = [&](const std::vector<SampleTensor>& inputs, bool compared) {
    auto trace = scaled.trace(inputs, compared);
    if (inputs[0].shape[0] > 8) {
      trace->findings.push_back({Severity::kError, "baked-value", "it is baked", "", {}});
    }
    return trace;
  };
  const auto sized =
      capture_sizes(*scaled.trace({sample_of({3, 2})}, true), {{"x0", 0, "rows", 1, 40}}, program);
  ASSERT_FALSE(sized.ok());
  EXPECT_EQ(sized.failure().error, Error::kUnsupported);
  EXPECT_THAT(sized.failure().text, HasSubstr("at rows="));
  EXPECT_THAT(sized.failure().text, HasSubstr("it is baked [baked-value]"));
}

TEST(DynamicDims, BadOnesAreNamed) {
  EXPECT_THAT(failure_of({3, 2}, {{"y", 0, "n", 1, 8}}), HasSubstr("no input 'y'"));
  EXPECT_THAT(failure_of({3, 2}, {{"x0", 2, "n", 1, 8}}), HasSubstr("'x0' has 2 dims, no dim 2"));
  EXPECT_THAT(failure_of({3, 2}, {{"x0", -3, "n", 1, 8}}), HasSubstr("no dim -3"));
  EXPECT_THAT(failure_of({3, 2}, {{"x0", 0, "n", 1, 8}, {"x0", -2, "m", 1, 8}}),
              HasSubstr("input 'x0', dim 0 is given twice: as 'n' and 'm'"));
  EXPECT_THAT(failure_of({3, 2}, {{"x0", 0, "n"}}), HasSubstr("'n' has no upper bound"));
  EXPECT_THAT(failure_of({3, 2}, {{"x0", 0, "n", 0, 8}}), HasSubstr("smallest size is 1"));
  EXPECT_THAT(failure_of({3, 2}, {{"x0", 0, "n", 9, 8}}), HasSubstr("from 9 to 8"));
  EXPECT_THAT(failure_of({3, 2}, {{"x0", 0, "n", 5, 7, 8}}), HasSubstr("'n' has no size"));
  EXPECT_THAT(failure_of({3, 2}, {{"x0", 0, "n", 4, 8}}), HasSubstr("'n' is 3 in the sample"));
  EXPECT_THAT(failure_of({3, 2}, {{"x0", 0, "n", 2, 8, 2}}), HasSubstr("a multiple of 2"));
  EXPECT_THAT(failure_of({3, 2}, {{"x0", 0, "n", 1, int64_t{1} << 40}}), HasSubstr("largest size"));
  EXPECT_THAT(failure_of({3, 2}, {{"x0", 0, "n", 1, 8}, {"x0", 1, "n"}}),
              HasSubstr("'n' is 3 in the sample's input 'x0', dim 0, and 2 in input 'x0', dim 1"));
}

TEST(DynamicDims, BoundsThatAreGivenAgainNarrow) {
  const Trace trace = *Scaled().trace({sample_of({6, 2})}, true);
  const auto shapes = symbols_of({{"x0", 0, "n", 1, 40, 2}}, trace);
  ASSERT_TRUE(shapes.ok());
  EXPECT_EQ(shapes->symbols[0].text(), "n: 2 to 40, a multiple of 2");
  const auto again = symbols_of({{"x0", 0, "n", 1, 40, 2}, {"x0", 0, "n", 5, 20, 3}}, trace);
  ASSERT_TRUE(again.ok()) << again.failure().text;
  EXPECT_EQ(again->symbols[0].text(), "n: 6 to 18, a multiple of 6");
  const auto huge =
      symbols_of({{"x0", 0, "n", 1, 40, 2147483629}, {"x0", 0, "n", {}, {}, 2147483587}}, trace);
  ASSERT_FALSE(huge.ok());
  EXPECT_THAT(huge.failure().text,
              HasSubstr("'n' (input 'x0', dim 0): no size in the range satisfies"));
}

}  // namespace
}  // namespace lazyrt
