#include "host_tracer/frontends/cpp/trace.h"

#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/rnn.h>

#include <algorithm>

#include "host_tracer/capture/trace_eval.h"

namespace lazyrt {
namespace {

using torch::Tensor;

struct NetImpl : torch::nn::Module {
  NetImpl()
      : first(register_module("first", torch::nn::Linear(4, 8))),
        second(register_module("second", torch::nn::Linear(8, 4))),
        again(register_module("again", second)),
        scale(register_buffer("scale", torch::full({4}, 0.5))) {}

  Tensor forward(const Tensor& x) {
    const Tensor h = second(torch::relu(first(x)));
    return again(torch::relu(first(h * scale)));
  }

  torch::nn::Linear first, second, again;
  Tensor scale;
};
TORCH_MODULE(Net);

struct PairImpl : torch::nn::Module {
  std::tuple<Tensor, std::vector<Tensor>> forward(const Tensor& a, const Tensor& b) {
    return {a + b, {a * 2, b.sum(0)}};
  }
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void expect_same_as_eager(const Trace& trace, const std::vector<Tensor>& inputs) {
  const auto got = evaluate_trace(trace, inputs);
  ASSERT_TRUE(got.ok()) << got.failure().text;
  ASSERT_EQ(got->size(), trace.sample_outputs.size());
  for (size_t i = 0; i < got->size(); ++i) {
    EXPECT_TRUE(at::allclose((*got)[i], from_sample(trace.sample_outputs[i]), 1e-5, 1e-6)) << i;
  }
}

TEST(CppTrace, ModuleWithASharedModule) {
  Net net;
  net->train();
  const std::vector<Tensor> inputs = {torch::randn({2, 4})};
  const auto before = net->first->weight.clone();
  const auto trace = lazyrt::trace(net, inputs);
  ASSERT_TRUE(trace.ok()) << trace.failure().text;
  expect_same_as_eager(*trace, inputs);
  std::vector<std::string> names;
  for (const TraceValue& v : trace->values) {
    if (v.leaf == LeafKind::kParameter || v.leaf == LeafKind::kBuffer) names.push_back(v.name);
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"first.bias", "first.weight.T", "scale", "second.bias",
                                             "second.weight.T"}));
  EXPECT_EQ(trace->nodes[0].source.module_path, "first");
  EXPECT_TRUE(net->is_training());
  EXPECT_TRUE(net->first->weight.requires_grad());
  EXPECT_TRUE(at::equal(net->first->weight, before));
  EXPECT_EQ(verdict_of(*trace), Verdict::kSound);
}

TEST(CppTrace, SharedPointerAndNestedOutputs) {
  const auto pair = std::make_shared<PairImpl>();
  const std::vector<Tensor> inputs = {torch::randn({2, 3}), torch::randn({2, 3})};
  TraceOptions options;
  options.input_names = {"left", "right"};
  const auto trace = lazyrt::trace(pair, inputs, options);
  ASSERT_TRUE(trace.ok()) << trace.failure().text;
  expect_same_as_eager(*trace, inputs);
  std::vector<std::string> names;
  for (const TraceOutput& out : trace->outputs) names.push_back(out.name);
  EXPECT_EQ(names, (std::vector<std::string>{"out.0", "out.1.0", "out.1.1"}));
  EXPECT_EQ(trace->values[static_cast<size_t>(trace->inputs[1])].name, "right");
}

TEST(CppTrace, LambdaWithItsLine) {
  const Tensor weight = torch::randn({4, 4});
  const std::vector<Tensor> inputs = {torch::randn({2, 4})};
  const auto trace = lazyrt::trace(
      [&](const Tensor& x) {
        const SourceScope here(source_here("block"));
        Tensor sum = torch::zeros({2, 4}, x.options());
        for (int i = 0; i < 3; ++i) sum += torch::matmul(x, weight);
        return sum;
      },
      inputs);
  ASSERT_TRUE(trace.ok()) << trace.failure().text;
  expect_same_as_eager(*trace, inputs);
  for (const TraceNode& node : trace->nodes) {
    EXPECT_EQ(node.source.module_path, "block");
    EXPECT_TRUE(has(node.source.file, "trace_test.cpp"));
    EXPECT_GT(node.source.line, 0);
  }
}

TEST(CppTrace, FunctionOfAVector) {
  const std::vector<Tensor> inputs = {torch::randn({2}), torch::randn({2}), torch::randn({2})};
  const auto trace =
      lazyrt::trace([](const std::vector<Tensor>& x) { return torch::cat(x); }, inputs);
  ASSERT_TRUE(trace.ok()) << trace.failure().text;
  EXPECT_EQ(trace->inputs.size(), 3u);
  expect_same_as_eager(*trace, inputs);
}

TEST(CppTrace, Recurrent) {
  torch::nn::GRU gru(torch::nn::GRUOptions(3, 4).num_layers(2).batch_first(true));
  const std::vector<Tensor> inputs = {torch::randn({2, 5, 3})};
  const auto trace = lazyrt::trace(gru, inputs);
  ASSERT_TRUE(trace.ok()) << trace.failure().text;
  EXPECT_EQ(trace->outputs.size(), 2u);
  expect_same_as_eager(*trace, inputs);
}

TEST(CppTrace, WrongNumberOfInputs) {
  const auto trace = lazyrt::trace(Net(), {torch::randn({2, 4}), torch::randn({2, 4})});
  ASSERT_FALSE(trace.ok());
  EXPECT_EQ(trace.failure().error, Error::kInvalidArgument) << trace.failure().text;
  EXPECT_TRUE(has(trace.failure().text, "2 tensors"));
}

TEST(CppTrace, UndefinedInputIsNamed) {
  const auto trace = lazyrt::trace(Net(), {Tensor()});
  ASSERT_FALSE(trace.ok());
  EXPECT_EQ(trace.failure().error, Error::kInvalidArgument);
  EXPECT_TRUE(has(trace.failure().text, "'x0'"));
}

TEST(CppTrace, TrainingBatchNormIsNamed) {
  torch::nn::BatchNorm1d norm(4);
  const auto trace = lazyrt::trace(norm, {torch::randn({2, 4})});
  ASSERT_FALSE(trace.ok());
  EXPECT_TRUE(has(trace.failure().text, "num_batches_tracked")) << trace.failure().text;
  EXPECT_EQ(norm->num_batches_tracked.item<int64_t>(), 0);
}

TEST(CppTrace, AModuleThatThrowsHalfWay) {
  int calls = 0;
  const auto trace = lazyrt::trace(
      [&](const Tensor& x) -> Tensor {
        ++calls;
        const Tensor y = x + 1;
        throw std::runtime_error("half-way");
        return y;
      },
      {torch::randn({2})});
  ASSERT_FALSE(trace.ok());
  EXPECT_TRUE(has(trace.failure().text, "half-way"));
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(lazyrt::trace(Net(), {torch::randn({2, 4})}).ok());
}

}  // namespace
}  // namespace lazyrt
