#include "host_tracer/record/capture.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/lazy/core/lazy_graph_executor.h>
#include <torch/csrc/lazy/core/metrics.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "host_tracer/record/capture_testing.h"
#include "host_tracer/record/compute_calls.h"

namespace lazyrt {
namespace {

using namespace capture_testing;

TEST(Capture, RecordsParametersByNameAndSharesTheirBytes) {
  const at::Tensor w = at::randn({4, 3}), b = at::randn({4});
  CaptureRequest request = request_for({at::randn({2, 3})});
  request.parameters = {{"fc.weight", w}, {"fc.bias", b}, {"tied.weight", w}};
  const auto trace = capture(request, [&](const Tensors& x) {
    return Tensors{at::linear(at::relu(at::linear(x[0], w, b)), w.t()) + 1};
  });
  ASSERT_TRUE(trace.ok()) << trace.failure().text;
  size_t parameters = 0;
  for (const TraceValue& value : trace->values) {
    if (value.leaf != LeafKind::kParameter) continue;
    ++parameters;
    EXPECT_TRUE(value.name == "fc.weight" || value.name == "fc.bias") << value.name;
    EXPECT_EQ(value.constant.data, (value.name == "fc.bias" ? b : w).const_data_ptr());
  }
  EXPECT_EQ(parameters, 2u);
  EXPECT_EQ(count(*trace, "aten::linear"), 2u);
  ASSERT_EQ(trace->inputs.size(), 1u);
  EXPECT_EQ(trace->values[0].name, "x0");
  EXPECT_EQ(trace->sample_inputs.size(), 1u);
}

TEST(Capture, FollowsWritesThroughViews) {
  const Trace trace = check_capture({at::randn({4, 6})}, [](const Tensors& x) {
    at::Tensor y = at::zeros({4, 6}, x[0].options());
    y.select(1, 0).copy_(x[0].select(1, 3));
    y.slice(1, 2, 4).add_(x[0].slice(1, 0, 2)).mul_(2);
    at::Tensor z = y.transpose(0, 1);
    z[1].fill_(5);
    z.clamp_(-1, 1);
    return Tensors{y, z.contiguous(), y.view({2, 12}).t()};
  });
  EXPECT_EQ(count(trace, "aten::copy_"), 0u);
  EXPECT_GE(count(trace, "aten::slice_scatter"), 1u);
}

TEST(Capture, KeepsFactoriesInTheGraph) {
  const Trace trace = check_capture({at::randn({3})}, [](const Tensors& x) {
    const auto options = x[0].options();
    at::Tensor y = at::arange(0, 3, options) + at::linspace(0, 1, 3, options) +
                   at::full({3}, 2.5, options) + at::ones({3}, options) + at::eye(3, options)[1];
    at::Tensor filled = at::empty({3}, options);
    at::arange_out(filled, 3);
    return Tensors{x[0] + y + filled, at::zeros_like(x[0]), x[0].new_full({2}, 4)};
  });
  EXPECT_EQ(count(trace, "aten::arange"), 2u);
  EXPECT_EQ(count(trace, "aten::linspace"), 1u);
}

TEST(Capture, ConvolutionalNetworkWithInPlaceOperators) {
  const at::Tensor w = at::randn({8, 3, 3, 3}), scale = at::rand({8}), shift = at::randn({8});
  const at::Tensor mean = at::randn({8}), var = at::rand({8}) + 0.5;
  const Trace trace = check_capture({at::randn({1, 3, 12, 10})}, [&](const Tensors& x) {
    at::Tensor y = at::conv2d(x[0], w, {}, 1, 1);
    y = at::batch_norm(y, scale, shift, mean, var, false, 0.1, 1e-5, false).relu_();
    y = at::max_pool2d(y, {2, 2});
    at::hardswish_(y);
    y.add_(y);
    y = at::group_norm(y, 2, scale, shift);
    return Tensors{at::adaptive_avg_pool2d(y, {1, 1}).flatten(1), at::avg_pool2d(y, {2, 2})};
  });
  EXPECT_EQ(count(trace, "aten::convolution"), 1u);
  EXPECT_EQ(count(trace, "aten::batch_norm"), 1u);
  EXPECT_EQ(count(trace, "aten::max_pool2d"), 1u);
  EXPECT_EQ(count(trace, "aten::native_group_norm"), 1u);
  EXPECT_EQ(count(trace, "aten::adaptive_avg_pool2d"), 1u);
}

TEST(Capture, AttentionIsOneNode) {
  const Trace trace = check_capture({at::randn({1, 2, 5, 8})}, [](const Tensors& x) {
    const at::Tensor mask = at::ones({5, 5}, x[0].options().dtype(at::kBool)).tril();
    at::Tensor y = at::scaled_dot_product_attention(x[0], x[0], x[0], mask);
    y = y + at::scaled_dot_product_attention(x[0], x[0], x[0], {}, 0.0, true);
    const at::Tensor weights = at::softmax(at::matmul(x[0], x[0].transpose(-1, -2)), -1);
    return Tensors{y.transpose(1, 2).reshape({1, 5, 16}), at::matmul(weights, x[0])};
  });
  EXPECT_EQ(count(trace, "aten::scaled_dot_product_attention"), 2u);
  EXPECT_EQ(count(trace, "aten::matmul"), 2u);
  EXPECT_EQ(count(trace, "aten::_softmax"), 1u);
}

Tensors rnn_weights(int64_t gates, int64_t in, int64_t hidden) {
  return {at::randn({gates * hidden, in}), at::randn({gates * hidden, hidden}),
          at::randn({gates * hidden}), at::randn({gates * hidden})};
}

TEST(Capture, RecurrentLayersAreOneNode) {
  const Tensors gru = rnn_weights(3, 4, 6), lstm = rnn_weights(4, 6, 5);
  const Trace trace = check_capture({at::randn({2, 20, 4})}, [&](const Tensors& x) {
    const at::Tensor h0 = at::zeros({1, 2, 6}, x[0].options());
    const at::Tensor h1 = at::zeros({1, 2, 5}, x[0].options());
    auto [y, h] = at::gru(x[0], h0, gru, true, 1, 0.0, false, false, true);
    auto [z, hn, cn] = at::lstm(y, {h1, h1}, lstm, true, 1, 0.0, false, false, true);
    return Tensors{z, h, hn, cn};
  });
  EXPECT_EQ(count(trace, "aten::gru"), 1u);
  EXPECT_EQ(count(trace, "aten::lstm"), 1u);
  EXPECT_EQ(trace.nodes.size(), 4u) << trace.text();
}

TEST(Capture, UndefinedOptionalTensors) {
  check_capture({at::randn({2, 3, 4, 4})}, [](const Tensors& x) {
    const at::Tensor w = at::ones({6, 3, 1, 1});
    at::Tensor y = at::conv2d(x[0], w, at::Tensor());
    y = at::layer_norm(y, {4, 4});
    const auto index =
        c10::List<std::optional<at::Tensor>>({std::nullopt, at::arange(2, at::kLong)});
    return Tensors{at::index(y, index), at::linear(y, at::ones({5, 4})), at::Tensor()};
  });
}

TEST(Capture, NumbersStayScalars) {
  const Trace trace = check_capture({at::randn({3}), at::arange(3)}, [](const Tensors& x) {
    return Tensors{x[0] * 2.0 + 1, x[1] * 2, x[1] * 2.5, x[0].gt(0.5), 1 - x[0], x[1] / 2};
  });
  for (size_t i = 0; i < trace.outputs.size(); ++i) {
    const auto id = static_cast<size_t>(trace.outputs[i].value);
    EXPECT_NE(trace.values[id].dtype, DType::kFloat64) << i;
  }
}

TEST(Capture, ShapesOfOperatorsWithoutMetaKernels) {
  check_capture({at::randn({2, 3, 8, 8}), at::arange(6).reshape({2, 3})}, [](const Tensors& x) {
    const at::Tensor& t = x[0];
    auto [var, mean] = at::var_mean(t, at::IntArrayRef{2, 3}, true, true);
    const at::Tensor grid = at::zeros({2, 5, 7, 2}, t.options());
    return Tensors{at::roll(t, {1}, {2}),
                   at::flip(t, {3}),
                   var,
                   mean,
                   at::std(t, 1),
                   t.max(),
                   at::reflection_pad2d(t, {1, 2, 3, 0}),
                   at::im2col(t, {3, 3}, {1, 1}, {1, 1}, {2, 2}),
                   at::grid_sampler(t, grid, 0, 0, false),
                   at::index_select(t, 1, x[1][0] % 3),
                   at::embedding(at::ones({6, 4}), x[1]),
                   at::where(t > 0, t, 0.0),
                   at::prod(x[1]),
                   at::relu(t),
                   at::hardtanh(t),
                   at::isnan(t),
                   at::cdist(t, t),
                   at::instance_norm(t, {}, {}, {}, {}, true, 0.1, 1e-5, false)};
  });
}

TEST(Capture, EmptyAndOneElementTensors) {
  check_capture({at::randn({0, 4}), at::randn({1})}, [](const Tensors& x) {
    return Tensors{at::linear(x[0], at::ones({3, 4})), at::cat({x[0], x[0]}), x[1] + x[0],
                   x[0].sum(), at::relu(x[1])};
  });
}

TEST(Capture, OutputsMayRepeatAndBeInputsOrConstants) {
  const at::Tensor constant = at::ones({2});
  const Trace trace = check_capture({at::randn({3})}, [&](const Tensors& x) {
    const at::Tensor y = x[0] + 1;
    return Tensors{y, y, x[0], constant};
  });
  ASSERT_EQ(trace.outputs.size(), 4u);
  EXPECT_EQ(trace.outputs[0].value, trace.outputs[1].value);
  EXPECT_EQ(trace.outputs[2].value, trace.inputs[0]);
  EXPECT_EQ(trace.values[static_cast<size_t>(trace.outputs[3].value)].leaf, LeafKind::kConstant);
}

TEST(Capture, DeadNodesAreLeftOut) {
  const Trace trace = check_capture({at::randn({3})}, [](const Tensors& x) {
    (void)at::exp(x[0]);
    return Tensors{x[0] + 1};
  });
  EXPECT_EQ(trace.nodes.size(), 1u);
}

TEST(Capture, LongTraceIsNotTrimmed) {
  const Trace trace = check_capture({at::randn({2})}, [](const Tensors& x) {
    at::Tensor y = x[0];
    for (int i = 0; i < 12000; ++i) y = i % 2 ? y.sin() : y.cos();
    return Tensors{y};
  });
  EXPECT_EQ(trace.nodes.size(), 12000u);
  EXPECT_EQ(torch::lazy::GetCounter("TrimIrGraph"), nullptr);
}

TEST(Capture, NothingHeavyRuns) {
  const at::Tensor w = at::randn({1024, 1024}), x = at::randn({1024, 1024});
  const CaptureProgram program = [&](const Tensors& in) {
    const at::Tensor y = at::linear(in[0], w);
    return Tensors{at::softmax(at::relu(y), -1), at::where(y > 0, y, 0.0).var(1)};
  };
  CaptureRequest request = request_for({x});
  request.parameters = {{"w", w}};
  const ComputeCalls observed;
  ASSERT_TRUE(capture(request, program).ok());
  EXPECT_TRUE(observed.calls().empty()) << testing::PrintToString(observed.calls());
  program({x});
  EXPECT_GE(observed.calls().size(), 5u) << "the observer sees nothing";
}

TEST(CaptureErrors, ValuesOfConstantsAreKnown) {
  const Trace trace = check_capture({at::randn({3})}, [](const Tensors& x) {
    const at::Tensor limit = at::arange(4, x[0].options()).sum();
    const at::Tensor where = at::nonzero(at::eye(3, x[0].options()));
    return Tensors{x[0] * limit.item<float>(), where + 1};
  });
  EXPECT_EQ(count(trace, "aten::arange"), 0u);
}

TEST(CaptureErrors, WritesBehindTheCapturesBackAreNamed) {
  const at::Tensor buffer = at::zeros({3});
  CaptureRequest request = request_for({at::randn({3})});
  request.buffers = {{"steps", buffer}};
  const auto trace = capture(request, [&](const Tensors& x) {
    buffer.add_(1);
    return Tensors{x[0] + buffer};
  });
  ASSERT_FALSE(trace.ok());
  EXPECT_NE(trace.failure().text.find("written"), std::string::npos) << trace.failure().text;
}

TEST(CaptureErrors, UnsupportedTensorsAreNamed) {
  const auto unused = [](const Tensors& x) { return x; };
  EXPECT_NE(failure_of({at::zeros({2}, at::kComplexFloat)}, unused).find("view_as_real"),
            std::string::npos);
  EXPECT_NE(failure_of({at::zeros({2}, at::kMeta)}, unused).find("meta"), std::string::npos);
  EXPECT_NE(failure_of({at::zeros({2, 2}).to_sparse()}, unused).find("dense"), std::string::npos);
  EXPECT_NE(
      failure_of({at::randn({8})}, [](const Tensors& x) { return Tensors{at::fft_rfft(x[0])}; })
          .find("view_as_real"),
      std::string::npos);
}

TEST(Capture, AbsoluteSpectrum) {
  check_capture({at::randn({8})},
                [](const Tensors& x) { return Tensors{at::abs(at::fft_rfft(x[0]))}; });
}

TEST(Capture, GradientsThatTheProgramTakes) {
  check_capture({at::randn({3, 4})}, [](const Tensors& x) {
    const at::Tensor leaf = x[0].detach().requires_grad_();
    const at::Tensor energy = at::gelu(at::layer_norm(leaf, {4})).square().sum();
    return Tensors{torch::autograd::grad({energy}, {leaf})[0]};
  });
}

TEST(CaptureErrors, ProcessStaysUsable) {
  const auto works = [] {
    return check_capture({at::randn({3})},
                         [](const Tensors& x) { return Tensors{x[0].exp() + 1}; });
  };
  works();
  const std::string raised = failure_of({at::randn({3})}, [](const Tensors& x) -> Tensors {
    at::Tensor kept = x[0] + 1;
    throw std::runtime_error("boom");
  });
  EXPECT_NE(raised.find("boom"), std::string::npos);
  works();
  const std::string shapes =
      failure_of({at::randn({3})}, [](const Tensors& x) { return Tensors{x[0] + at::randn({4})}; });
  EXPECT_NE(shapes.find("aten::add"), std::string::npos) << shapes;
  works();
  EXPECT_TRUE(torch::lazy::LazyGraphExecutor::Get()->GetLiveTensors(nullptr).empty());
}

TEST(CaptureErrors, NotInsideAnotherCapture) {
  std::string inner;
  check_capture({at::randn({3})}, [&](const Tensors& x) {
    if (x[0].device().is_lazy())
      inner = failure_of({at::randn({3})}, [](const Tensors& y) { return y; });
    return Tensors{x[0] + 1};
  });
  EXPECT_NE(inner.find("inside another"), std::string::npos);
}

TEST(CaptureErrors, LazyTensorOutsideOfItsCapture) {
  at::Tensor escaped;
  check_capture({at::randn({3})}, [&](const Tensors& x) {
    if (x[0].device().is_lazy()) escaped = x[0];
    return Tensors{x[0] + 1};
  });
  EXPECT_THROW((void)(escaped + 1), c10::Error);
  EXPECT_THROW((void)lazyrt::lift(at::ones({2})), c10::Error);
}

TEST(CaptureThreads, OneWaitsForTheOther) {
  std::atomic<int> inside{0};
  std::atomic<int> worst{0};
  std::atomic<int> good{0};
  const auto work = [&] {
    const auto trace = capture(request_for({at::randn({3})}), [&](const Tensors& x) {
      worst = std::max(worst.load(), ++inside);
      at::Tensor y = x[0];
      for (int i = 0; i < 200; ++i) y = y + 1;
      --inside;
      return Tensors{y};
    });
    if (trace.ok() && trace->nodes.size() == 200) ++good;
  };
  std::thread a(work), b(work);
  a.join();
  b.join();
  EXPECT_EQ(worst, 1);
  EXPECT_EQ(good, 2);
}

}  // namespace
}  // namespace lazyrt
