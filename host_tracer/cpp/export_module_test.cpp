#include "host_tracer/cpp/export_module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/functional/activation.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "host_tracer/frontends/shared/trace_checks.h"
#include "lazyrt/runtime.h"

namespace lazyrt {
namespace {

using ::testing::HasSubstr;
using torch::Tensor;

class CppExport : public ::testing::Test {
 protected:
  CppExport()
      : path_(std::filesystem::temp_directory_path() /
              ("lazyrt_cpp_" + std::to_string(getpid()) + ".lzb")) {}
  ~CppExport() override { std::filesystem::remove(path_); }

  /// The bundle's answer to these inputs.
  Tensor run(const std::vector<Tensor>& inputs) const {
    auto program = Program::open(path_.c_str(), default_ops());
    EXPECT_TRUE(program.ok()) << program.status().message();
    SessionOptions options;
    options.backend = cpu_backend();
    auto session = Session::create(program->method(size_t{0}), options);
    EXPECT_TRUE(session.ok()) << session.status().message();
    for (size_t i = 0; i < inputs.size(); ++i) {
      Shape shape;
      for (const int64_t size : inputs[i].sizes()) shape.append(size);
      TensorView view;
      view.dtype = to_dtype(inputs[i].scalar_type());
      view.shape = shape;
      view.data = inputs[i].data_ptr();
      const Status set = session->set_input(i, view);
      EXPECT_TRUE(set.ok()) << set.message();
    }
    const Status ran = session->run();
    EXPECT_TRUE(ran.ok()) << ran.message();
    const auto y = session->output(0);
    if (!ran.ok() || !y.ok()) return {};
    const std::vector<int64_t> sizes(y->shape.begin(), y->shape.end());
    return torch::from_blob(const_cast<float*>(y->as<float>()), sizes).clone();
  }

  const std::string path_;
};

struct EncoderImpl : torch::nn::Module {
  EncoderImpl()
      : qkv(register_module("qkv", torch::nn::Linear(8, 24))),
        out(register_module("out", torch::nn::Linear(8, 8))),
        norm(register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({8})))) {}

  Tensor forward(const Tensor& x, const Tensor& mask) {
    const int64_t b = x.size(0), n = x.size(1);
    const auto parts = qkv(x).view({b, n, 3, 2, 4}).permute({2, 0, 3, 1, 4}).unbind(0);
    Tensor w = torch::matmul(parts[0], parts[1].transpose(-1, -2)) / 2.0;
    w = w + (1 - mask).view({b, 1, 1, n}) * -1e4;
    const Tensor y = torch::matmul(w.softmax(-1), parts[2]).transpose(1, 2).reshape({b, n, 8});
    return norm(x + out(y));
  }

  torch::nn::Linear qkv, out;
  torch::nn::LayerNorm norm;
};
TORCH_MODULE(Encoder);

TEST_F(CppExport, AModuleAtAnyBatchAndLength) {
  torch::manual_seed(1);
  Encoder encoder;
  encoder->eval();
  ModuleExportOptions options;
  options.trace.input_names = {"x", "mask"};
  options.dynamic = {
      {"x", 0, "batch", 1, 8}, {"mask", 0, "batch"}, {"x", 1, "seq", 1, 64}, {"mask", 1, "seq"}};
  const auto made =
      export_module(encoder, {torch::randn({2, 5, 8}), torch::ones({2, 5})}, path_, options);
  ASSERT_TRUE(made.ok()) << made.failure().text;
  EXPECT_FALSE(made->exported.size_rules.empty());
  EXPECT_GT(made->checked.calls, 5u);
  const torch::NoGradGuard no_grad;
  for (const auto& [batch, length] :
       std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {2, 5}, {3, 17}, {8, 64}, {5, 1}}) {
    const Tensor x = torch::randn({batch, length, 8}), mask = torch::ones({batch, length});
    test::expect_close(run({x, mask}), encoder->forward(x, mask), std::to_string(length));
  }
}

TEST_F(CppExport, ASizeThatGetsIntoANumber) {
  const auto program = [](const Tensor& x) {
    return x / std::sqrt(static_cast<double>(x.size(1)));
  };
  ModuleExportOptions options;
  options.dynamic = {{"x0", 1, "width", 1, 500}};
  const auto made = export_module(program, {torch::randn({2, 5})}, path_, options);
  ASSERT_TRUE(made.ok()) << made.failure().text;
  for (const int64_t width : {1, 5, 36, 499, 500}) {
    const Tensor x = torch::randn({2, width});
    test::expect_close(run({x}), program(x), std::to_string(width));
  }
}

TEST_F(CppExport, WithoutTheProgramTheTracesAreCompared) {
  const auto program = [](const Tensor& x) { return torch::relu(x) * 2; };
  ModuleExportOptions options;
  options.trace.keep_program = false;
  options.dynamic = {{"x0", 0, "rows", 1, 40}};
  const auto made = export_module(program, {torch::randn({2, 5})}, path_, options);
  ASSERT_TRUE(made.ok()) << made.failure().text;
  EXPECT_GT(made->checked.calls, 3u);
}

TEST_F(CppExport, AProgramThatThrowsAtASizeIsNamed) {
  const auto program = [](const Tensor& x) { return x.view({-1, 2}); };
  ModuleExportOptions options;
  options.dynamic = {{"x0", 0, "n", 1, 64}};
  const auto refused = export_module(program, {torch::randn({6})}, path_, options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.failure().error, Error::kInvalidArgument);
  EXPECT_THAT(refused.failure().text, HasSubstr("at n="));
  EXPECT_THAT(refused.failure().text, HasSubstr("the program raises: "));
  EXPECT_FALSE(std::filesystem::exists(path_));
  options.dynamic = {{"x0", 0, "n", 2, 64, 2}};
  const auto made = export_module(program, {torch::randn({6})}, path_, options);
  ASSERT_TRUE(made.ok()) << made.failure().text;
  const Tensor x = torch::randn({42});
  test::expect_close(run({x}), program(x), "42");
}

TEST_F(CppExport, AnotherPathAtAnotherSizeIsARange) {
  const auto program = [](const Tensor& x) {
    return x.size(0) > 12 ? torch::relu(x) : torch::sigmoid(x);
  };
  ModuleExportOptions options;
  options.dynamic = {{"x0", 0, "n", 1, 64}};
  const auto made = export_module(program, {torch::randn({6})}, path_, options);
  ASSERT_TRUE(made.ok()) << made.failure().text;
  ASSERT_EQ(made->exported.variants.size(), 2u);
  EXPECT_EQ(made->exported.variants[1].sizes, "n: 13 to 64");
  for (const int64_t n : {1, 12, 13, 64}) {
    const Tensor x = torch::randn({n});
    test::expect_close(run({x}), program(x), std::to_string(n));
  }
}

/// No capture shows what a C++ program asks of its sizes: the bundle is run beside it.
TEST_F(CppExport, AnotherPathAtOneSizeIsARange) {
  const auto program = [](const Tensor& x) {
    return x.size(0) == 137 ? torch::relu(x) : torch::sigmoid(x);
  };
  ModuleExportOptions options;
  options.dynamic = {{"x0", 0, "n", 8, 420}};
  options.check.size_calls = 1000;
  const auto made = export_module(program, {torch::randn({37, 2})}, path_, options);
  ASSERT_TRUE(made.ok()) << made.failure().text;
  ASSERT_EQ(made->exported.variants.size(), 3u);
  EXPECT_GT(made->checked.sizes, 300u);
  for (const int64_t n : {8, 136, 137, 138, 420}) {
    const Tensor x = torch::randn({n, 2});
    test::expect_close(run({x}), program(x), std::to_string(n));
  }
}

TEST_F(CppExport, ALimitAtOneSizeThatNoValueReachesIsARange) {
  const auto program = [](const Tensor& x) { return x.clamp_max(x.size(0) == 137 ? 1e3 : 1e9); };
  ModuleExportOptions options;
  options.dynamic = {{"x0", 0, "n", 8, 420}};
  options.check.size_calls = options.check.size_captures = 1000;
  const auto made = export_module(program, {torch::randn({37, 2})}, path_, options);
  ASSERT_TRUE(made.ok()) << made.failure().text;
  for (const int64_t n : {8, 136, 137, 138, 420}) {
    const Tensor x = torch::randn({n, 2}) * 5000;
    test::expect_close(run({x}), program(x), std::to_string(n));
  }
}

TEST_F(CppExport, SizesWithoutAPatternFail) {
  const auto program = [](const Tensor& x) {
    return x.size(0) * 7919 % 31 == 5 ? torch::relu(x) : torch::sigmoid(x);
  };
  ModuleExportOptions options;
  options.dynamic = {{"x0", 0, "n", 8, 1000}};
  const auto refused = export_module(program, {torch::randn({37, 2})}, path_, options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.failure().error, Error::kUnsupported);
  EXPECT_THAT(refused.failure().text, HasSubstr("n="));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(CppExport, ACheckOfTheSampleLooksAtNoOtherSizes) {
  const auto program = [](const Tensor& x) { return torch::relu(x); };
  ModuleExportOptions options;
  options.dynamic = {{"x0", 0, "n", 8, 420}};
  options.check.level = CheckLevel::kSample;
  const auto made = export_module(program, {torch::randn({37, 2})}, path_, options);
  ASSERT_TRUE(made.ok()) << made.failure().text;
  EXPECT_EQ(made->checked.sizes, 0u);
}

TEST_F(CppExport, AnotherPathAtEachSizeFailsByItsPlace) {
  const auto program = [](const Tensor& x) {
    const SourceScope here(source_here());
    Tensor y = x;
    for (int64_t i = 0; i < x.size(0); ++i) y = torch::relu(y + x);
    return y;
  };
  ModuleExportOptions options;
  options.dynamic = {{"x0", 0, "n", 1, 64}};
  const auto refused = export_module(program, {torch::randn({6})}, path_, options);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.failure().text, HasSubstr("n="));
  EXPECT_THAT(refused.failure().text, HasSubstr("export_module_test.cpp"));
}

}  // namespace
}  // namespace lazyrt
