#include "host_tracer/frontends/cpp/trace.h"

#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/rnn.h>

#include <algorithm>

#include "host_tracer/frontends/shared/trace_checks.h"

namespace lazyrt {
namespace {

using test::expect_close;
using test::has_finding;
using test::outputs_of;
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

void expect_same_as_eager(const Trace& trace) {
  const std::vector<Tensor> got = outputs_of(trace);
  for (size_t i = 0; i < got.size(); ++i) {
    expect_close(got[i], from_sample(trace.sample_outputs[i]), trace.outputs[i].name);
  }
}

TEST(CppTrace, ModuleWithASharedModule) {
  Net net;
  net->train();
  const std::vector<Tensor> inputs = {torch::randn({2, 4})};
  const auto before = net->first->weight.clone();
  const auto trace = lazyrt::trace(net, inputs);
  ASSERT_TRUE(trace.ok()) << trace.failure().text;
  expect_same_as_eager(*trace);
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
  expect_same_as_eager(*trace);
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
  expect_same_as_eager(*trace);
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
  expect_same_as_eager(*trace);
}

TEST(CppTrace, Recurrent) {
  torch::nn::GRU gru(torch::nn::GRUOptions(3, 4).num_layers(2).batch_first(true));
  const std::vector<Tensor> inputs = {torch::randn({2, 5, 3})};
  const auto trace = lazyrt::trace(gru, inputs);
  ASSERT_TRUE(trace.ok()) << trace.failure().text;
  EXPECT_EQ(trace->outputs.size(), 2u);
  expect_same_as_eager(*trace);
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

/// Runs the trace on each input, states carried on, then the module itself, whose buffers the trace
/// shares.
template <class Module>
void expect_states_as_eager(const Trace& trace, Module& module, const std::vector<Tensor>& inputs) {
  const at::NoGradGuard no_grad;
  std::vector<TraceRun> runs;
  for (const Tensor& x : inputs) {
    auto run = run_trace(trace, {x}, runs.empty() ? std::vector<Tensor>() : runs.back().states);
    ASSERT_TRUE(run.ok()) << run.failure().text;
    runs.push_back(std::move(*run));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    expect_close(runs[i].outputs[0], module->forward(inputs[i]), "output");
  }
  for (size_t i = 0; i < trace.states.size(); ++i) {
    const std::string& name = trace.values[static_cast<size_t>(trace.states[i].leaf)].name;
    expect_close(runs.back().states[i], *module->named_buffers().find(name), name);
  }
}

TEST(CppTrace, TrainingBatchNormKeepsItsStatistics) {
  for (const std::optional<double> momentum :
       {std::optional<double>(0.3), std::optional<double>()}) {
    torch::nn::BatchNorm1d norm(torch::nn::BatchNorm1dOptions(4).momentum(momentum));
    std::vector<Tensor> inputs;
    for (int i = 0; i < 3; ++i) inputs.push_back(torch::randn({5, 4}) * (i + 1) + i);
    const auto trace = lazyrt::trace(norm, {inputs[0]});
    ASSERT_TRUE(trace.ok()) << trace.failure().text;
    EXPECT_EQ(trace->states.size(), 3u) << trace->text();
    EXPECT_EQ(verdict_of(*trace), Verdict::kSpecialized) << trace->text();
    EXPECT_TRUE(has_finding(*trace, "training-mode")) << trace->text();
    EXPECT_EQ(norm->num_batches_tracked.item<int64_t>(), 0);
    EXPECT_TRUE(at::equal(norm->running_var, torch::ones({4})));
    if (momentum) expect_states_as_eager(*trace, norm, inputs);
  }
}

struct CounterImpl : torch::nn::Module {
  CounterImpl()
      : calls(register_buffer("calls", torch::zeros({}, torch::kLong))),
        total(register_buffer("total", torch::zeros({2}))) {}

  Tensor forward(const Tensor& x) {
    calls.add_(1);
    total += x.sum(0);
    return x + total / calls;
  }

  Tensor calls, total;
};
TORCH_MODULE(Counter);

TEST(CppTrace, WrittenBuffersAreState) {
  Counter counter;
  const std::vector<Tensor> inputs = {torch::randn({3, 2}), torch::randn({3, 2}),
                                      torch::randn({3, 2})};
  const auto trace = lazyrt::trace(counter, {inputs[0]});
  ASSERT_TRUE(trace.ok()) << trace.failure().text;
  EXPECT_EQ(trace->states.size(), 2u) << trace->text();
  EXPECT_EQ(counter->calls.item<int64_t>(), 0);
  EXPECT_EQ(counter->total.device(), at::kCPU);
  expect_states_as_eager(*trace, counter, inputs);
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
