// Results whose shapes depend on values, state, writes and random numbers.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "host_tracer/record/capture_testing.h"

namespace lazyrt {
namespace {

using namespace capture_testing;
using Index = c10::List<std::optional<at::Tensor>>;

/// Right for the sample and for `other`, which has as many true elements elsewhere; with a guard on
/// the count and as many checks.
Trace check_count(const Tensors& sample, const Tensors& other, const CaptureProgram& program,
                  size_t checks = 0) {
  const Trace trace = checked(sample, program);
  EXPECT_EQ(verdict_of(trace), Verdict::kSpecialized) << all_findings(trace);
  EXPECT_TRUE(trace.findings.empty()) << all_findings(trace);
  EXPECT_EQ(trace.guards.size(), 1 + checks) << trace.text();
  expect_same(trace, sample, program);
  expect_same(trace, other, program);
  return trace;
}

at::Tensor floats(std::vector<float> values, at::IntArrayRef shape) {
  return at::tensor(values).reshape(shape);
}

TEST(ValueShapes, MaskedElements) {
  const at::Tensor x = floats({1, -2, 3, -4, 5, -6}, {2, 3});
  const CaptureProgram program = [](const Tensors& in) {
    const at::Tensor& t = in[0];
    const at::Tensor mask = t > 0;
    return Tensors{t.index({mask}), t.masked_select(mask) * 2, at::nonzero(mask),
                   at::nonzero(at::relu(t))};
  };
  const Trace trace = checked({x}, program);
  EXPECT_EQ(trace.guards.at(0).seen, SeenNumber(int64_t{3}));
  EXPECT_NE(trace.guards.at(0).text.find("count of true elements of"), std::string::npos);
  EXPECT_EQ(count(trace, "aten::index"), 0u) << trace.text();
  EXPECT_EQ(count(trace, "aten::nonzero"), 3u) << trace.text();
  expect_same(trace, {x}, program);
  expect_same(trace, {-x}, program);
  expect_refused(trace, {at::abs(x)});
}

TEST(ValueShapes, MasksAmongIndices) {
  const at::Tensor x = at::arange(24, at::kFloat).reshape({2, 3, 4});
  const at::Tensor m = at::tensor({1, 0, 1}).to(at::kBool);
  check_count({x, m}, {x + 1, m.flip(0).roll(1)}, [](const Tensors& in) {
    return Tensors{at::index(in[0], Index({std::nullopt, in[1]}))};
  });
  check_count({x, m}, {x + 1, m.roll(1)}, [](const Tensors& in) {
    const at::Tensor two = at::tensor({int64_t{1}, int64_t{0}}, at::kLong);
    return Tensors{at::index(in[0], Index({two, in[1]}))};
  });
  const at::Tensor flat = at::ones({2, 3}, at::kBool).tril();
  check_count({x, flat}, {x + 1, flat.flip(1)},
              [](const Tensors& in) { return Tensors{in[0].index({in[1]})}; });
}

TEST(ValueShapes, MaskedAssignment) {
  const at::Tensor x = at::arange(6, at::kFloat).reshape({2, 3});
  const at::Tensor m = at::ones({2, 3}, at::kBool).tril();
  const Trace plain = checked({x, m}, [](const Tensors& in) {
    at::Tensor y = in[0].clone();
    y.index_put_({in[1]}, at::scalar_tensor(7.0f));
    return Tensors{y};
  });
  EXPECT_TRUE(plain.guards.empty());
  check_count({x, m}, {x + 1, m.flip(1)}, [](const Tensors& in) {
    at::Tensor y = in[0].clone();
    y.index_put_({in[1]}, in[0].index({in[1]}) * 10);
    return Tensors{y};
  });
}

TEST(ValueShapes, ConstantMasksAreConstantIndices) {
  const at::Tensor m = at::tensor({1, 0, 1}).to(at::kBool);
  const CaptureProgram program = [&](const Tensors& in) {
    return Tensors{in[0].index({m}), in[0].index({std::nullopt, m})};
  };
  const at::Tensor x = at::randn({3, 3});
  const Trace trace = checked({x}, program);
  EXPECT_TRUE(trace.guards.empty());
  EXPECT_EQ(count(trace, "aten::nonzero"), 0u);
  expect_same(trace, {x + 1}, program);
}

TEST(ValueShapes, NoElementIsTrue) {
  const CaptureProgram program = [](const Tensors& in) {
    return Tensors{in[0].index({in[0] > 100}).sum()};
  };
  expect_same(checked({at::rand({4})}, program), {at::rand({4})}, program);
}

TEST(ValueShapes, RepeatedElements) {
  const auto repeats = [](std::vector<int64_t> n) { return at::tensor(n); };
  const at::Tensor x = at::randn({4, 2});
  check_count(
      {x, repeats({2, 0, 1, 3})}, {x + 1, repeats({0, 4, 1, 1})},
      [](const Tensors& in) { return Tensors{at::repeat_interleave(in[0], in[1], 0)}; },
      /*checks=*/1);
}

TEST(ValueShapes, SyncsBehindAMaskGoOn) {
  // In the second trace the mask has another count: it is kept at the first one's.
  const CaptureProgram program = [](const Tensors& in) {
    const at::Tensor picked = in[0].index({in[0] > 0.5});
    (void)picked.sum().item<double>();
    return Tensors{picked * 2};
  };
  const Trace trace = checked({at::rand({50})}, program);
  EXPECT_EQ(trace.guards.size(), 1u) << all_findings(trace);
}

TEST(ValueShapes, UniqueIsBaked) {
  const Trace trace = checked({at::tensor({3, 1, 3, 2})}, [](const Tensors& in) {
    const SourceScope scope = at_line(21);
    return Tensors{std::get<0>(at::_unique2(in[0], true, false, false)) + 1};
  });
  EXPECT_EQ(verdict_of(trace), Verdict::kBroken);
  EXPECT_EQ(trace.findings.size(), 1u) << all_findings(trace);
  EXPECT_EQ(trace.findings.at(0).source.line, 21);
  EXPECT_EQ(trace.syncs.at(0).use, SyncUse::kBaked);
}

// --- state and writes ---------------------------------------------------------------------------

TEST(State, WrittenBuffersAreCarriedOn) {
  const at::Tensor cache = at::zeros({3}), steps = at::zeros({}, at::kLong), scale = at::ones({3});
  CaptureRequest request = request_for({at::rand({3})});
  request.buffers = {{"cache", cache}, {"steps", steps}, {"scale", scale}};
  const Trace trace = checked(request, [&](const Tensors& x) {
    lazyrt::lift(cache).mul_(0.5).add_(x[0]);
    lazyrt::lift(cache).slice(0, 0, 1).zero_();
    lazyrt::lift(steps).add_(1);
    return Tensors{lazyrt::lift(cache) * scale + lazyrt::lift(steps)};
  });
  ASSERT_EQ(trace.states.size(), 2u) << trace.text();
  EXPECT_EQ(verdict_of(trace), Verdict::kSound) << all_findings(trace);
  EXPECT_EQ(find(trace, "state")->severity, Severity::kNote);
  for (const TraceState& state : trace.states) {
    EXPECT_EQ(trace.values[static_cast<size_t>(state.leaf)].leaf, LeafKind::kState);
  }
  EXPECT_TRUE(at::equal(cache, at::zeros({3}))) << "the caller's buffer was written";
  Tensors states;
  at::Tensor want = at::zeros({3});
  for (int step = 1; step <= 3; ++step) {
    const at::Tensor x = at::rand({3});
    want = want * 0.5 + x;
    want[0] = 0;
    const auto run = run_trace(trace, {x}, states);
    ASSERT_TRUE(run.ok()) << run.failure().text;
    states = run->states;
    expect_close(run->outputs[0], want + step);
  }
}

TEST(State, SyncsOfStateAreGuards) {
  const at::Tensor steps = at::zeros({}, at::kLong), fixed = at::ones({});
  CaptureRequest request = request_for({at::rand({3})});
  request.buffers = {{"steps", steps}, {"fixed", fixed}};
  const Trace trace = checked(request, [&](const Tensors& x) {
    const bool first = (lazyrt::lift(steps) == 0).item<bool>();
    const bool one = lazyrt::lift(fixed).is_nonzero();
    lazyrt::lift(steps).add_(1);
    return Tensors{first && one ? x[0] + 1 : x[0]};
  });
  ASSERT_EQ(trace.guards.size(), 1u) << trace.text();
  const auto first = run_trace(trace, {at::rand({3})});
  ASSERT_TRUE(first.ok()) << first.failure().text;
  EXPECT_TRUE(guards_hold(trace, first->guards));
  const auto second = run_trace(trace, {at::rand({3})}, first->states);
  ASSERT_TRUE(second.ok()) << second.failure().text;
  EXPECT_FALSE(guards_hold(trace, second->guards));
}

TEST(State, WrittenInputsAreNamedAndStay) {
  const at::Tensor x = at::zeros({3});
  const Trace trace = checked({x}, [](const Tensors& in) {
    {
      const SourceScope scope = at_line(31);
      in[0].slice(0, 0, 2).add_(1);
    }
    return Tensors{in[0] * 2};
  });
  EXPECT_TRUE(at::equal(x, at::zeros({3})));
  const Finding* finding = find(trace, "input-written");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->source.line, 31);
  EXPECT_NE(finding->message.find("'x0'"), std::string::npos);
  EXPECT_EQ(verdict_of(trace), Verdict::kSpecialized);
  expect_close(run_trace(trace, {x})->outputs[0], at::tensor({2.0f, 2.0f, 0.0f}));
}

TEST(State, MemoryThatIsSharedIsNamed) {
  const at::Tensor all = at::zeros({4});
  CaptureRequest request = request_for({at::rand({2})});
  request.buffers = {{"all", all}, {"half", all.slice(0, 0, 2)}};
  const Trace trace = checked(request, [&](const Tensors& x) {
    lazyrt::lift(request.buffers[1].tensor).add_(x[0]);
    return Tensors{lazyrt::lift(all) + 1};
  });
  ASSERT_NE(find(trace, "shared-memory"), nullptr);
  EXPECT_NE(find(trace, "shared-memory")->message.find("'all'"), std::string::npos);
}

TEST(State, TextTellsOfGuardsAndStates) {
  const at::Tensor steps = at::zeros({}, at::kLong);
  CaptureRequest request = request_for({at::rand({2})});
  request.buffers = {{"steps", steps}};
  const Trace trace = checked(request, [&](const Tensors& x) {
    const SourceScope scope = at_line(2);
    const bool positive = (x[0].sum() >= 0).item<bool>();
    lazyrt::lift(steps).add_(positive ? 1 : 2);
    return Tensors{x[0] + 1};
  });
  const std::string text = trace.text();
  EXPECT_NE(text.find(" == True  # bool(ge(sum(x0), 0)) at model.py:2\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("\nstate %"), std::string::npos) << text;
}

TEST(State, WrittenParametersAreAnError) {
  const at::Tensor w = at::ones({3});
  CaptureRequest request = request_for({at::rand({3})});
  request.parameters = {{"w", w}};
  const Trace trace = checked(request, [&](const Tensors& x) {
    lazyrt::lift(w).add_(1);
    return Tensors{x[0] * lazyrt::lift(w)};
  });
  ASSERT_NE(find(trace, "parameter-written"), nullptr);
  EXPECT_EQ(verdict_of(trace), Verdict::kBroken);
}

// --- random numbers and training mode -----------------------------------------------------------

TEST(Random, EveryOperatorIsNamedWithItsLine) {
  const CaptureProgram program = [](const Tensors& x) {
    int line = 0;
    at::Tensor y = x[0];
    const auto next = [&](const auto& fn) {
      const SourceScope scope = at_line(++line);
      y = y + fn().to(at::kFloat).sum();
    };
    next([&] { return at::rand({3}, y.options()); });
    next([&] { return at::randn_like(y); });
    next([&] { return at::randint(5, {3}, y.options()); });
    next([&] { return at::randperm(4, y.options().dtype(at::kLong)); });
    next([&] { return at::bernoulli(at::sigmoid(y)); });
    next([&] { return at::multinomial(at::sigmoid(y), 2); });
    next([&] { return at::dropout(y, 0.5, true); });
    next([&] { return y.clone().normal_(); });
    next([&] { return y.clone().uniform_(); });
    next([&] { return y.clone().bernoulli_(0.5); });
    next([&] { return y.clone().exponential_(); });
    next([&] { return at::normal(y, 1.0); });
    next([&] { return at::dropout(y, 0.5, false); });
    return Tensors{y};
  };
  const Trace trace = checked({at::rand({3})}, program);
  EXPECT_EQ(verdict_of(trace), Verdict::kBroken);
  std::vector<int> lines;
  for (const Finding& finding : trace.findings) {
    EXPECT_EQ(finding.id, "random") << finding.message;
    lines.push_back(finding.source.line);
  }
  EXPECT_EQ(lines, (std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}))
      << all_findings(trace);
  EXPECT_NE(trace.findings.at(6).suggestion.find("eval()"), std::string::npos);
  EXPECT_TRUE(run_trace(trace, {at::rand({3})}).ok());
}

TEST(Random, HiddenInLayersKeptWhole) {
  const Trace trace = checked({at::rand({1, 2, 4, 4})}, [](const Tensors& x) {
    return Tensors{at::scaled_dot_product_attention(x[0], x[0], x[0], {}, 0.5)};
  });
  ASSERT_NE(find(trace, "random"), nullptr);
  EXPECT_NE(find(trace, "random")->suggestion.find("eval()"), std::string::npos);
  const Trace quiet = checked({at::rand({1, 2, 4, 4})}, [](const Tensors& x) {
    return Tensors{at::scaled_dot_product_attention(x[0], x[0], x[0])};
  });
  EXPECT_EQ(verdict_of(quiet), Verdict::kSound) << all_findings(quiet);
}

TEST(Random, RecurrentLayersInTraining) {
  const Tensors weights = {at::randn({12, 3}), at::randn({12, 4}), at::randn({12}),
                           at::randn({12}),    at::randn({12, 4}), at::randn({12, 4}),
                           at::randn({12}),    at::randn({12})};
  const at::Tensor x = at::rand({2, 5, 3});
  const auto gru = [&](double dropout) {
    return [&weights, dropout](const Tensors& in) {
      const at::Tensor h = at::zeros({2, 2, 4}, in[0].options());
      return Tensors{std::get<0>(at::gru(in[0], h, weights, true, 2, dropout, true, false, true))};
    };
  };
  const Trace quiet = checked({x}, gru(0.0));
  EXPECT_EQ(verdict_of(quiet), Verdict::kSound) << all_findings(quiet);
  expect_same(quiet, {x}, gru(0.0));
  const Trace noisy = checked({x}, gru(0.5));
  ASSERT_NE(find(noisy, "random"), nullptr);
  EXPECT_NE(find(noisy, "random")->suggestion.find("eval()"), std::string::npos);
  EXPECT_EQ(count(noisy, "aten::gru"), 1u);
}

TEST(Random, BatchNormInTrainingIsNamed) {
  const at::Tensor mean = at::zeros({3}), var = at::ones({3});
  const Trace trace = checked({at::randn({4, 3})}, [&](const Tensors& x) {
    return Tensors{at::batch_norm(x[0], {}, {}, mean, var, true, 0.1, 1e-5, false)};
  });
  ASSERT_NE(find(trace, "training-mode"), nullptr);
  EXPECT_NE(find(trace, "training-mode")->suggestion.find("model.eval()"), std::string::npos);
  EXPECT_EQ(verdict_of(trace), Verdict::kBroken);
  const at::Tensor x = at::randn({4, 3});
  expect_close(run_trace(trace, {x})->outputs[0],
               at::batch_norm(x, {}, {}, {}, {}, true, 0.1, 1e-5, false));
  EXPECT_TRUE(at::equal(mean, at::zeros({3})));
}

TEST(BadInput, DoublesAndEmptyTensors) {
  const CaptureProgram program = [](const Tensors& x) {
    return Tensors{x[0] * 2, x[1].index({x[1] > 0}), at::cat({x[1], x[0].to(at::kFloat)})};
  };
  const Tensors inputs = {at::randn({3}, at::kDouble), at::empty({0})};
  expect_same(checked(inputs, program), inputs, program);
}

}  // namespace
}  // namespace lazyrt
