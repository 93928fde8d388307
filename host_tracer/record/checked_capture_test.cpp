#include "host_tracer/record/checked_capture.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "host_tracer/record/capture_testing.h"

namespace lazyrt {
namespace {

using namespace capture_testing;

int64_t& sines() {
  static int64_t count = 0;
  return count;
}

// --- truth values -----------------------------------------------------------------------------

TEST(Syncs, EarlyExitIsAGuard) {
  const at::Tensor w = at::rand({3, 3}) + 0.1;
  const CaptureProgram program = [&](const Tensors& x) {
    const at::Tensor y = at::linear(x[0], w);
    const SourceScope scope = at_line(7);
    if ((y.sum() > 0).item<bool>()) return Tensors{y * 2};
    return Tensors{at::exp(y) - 1};
  };
  const at::Tensor positive = at::rand({2, 3}) + 0.1;
  const Trace trace = checked({positive}, program);
  EXPECT_EQ(verdict_of(trace), Verdict::kSpecialized) << all_findings(trace);
  EXPECT_TRUE(trace.findings.empty()) << all_findings(trace);
  ASSERT_EQ(trace.guards.size(), 1u) << trace.text();
  EXPECT_EQ(trace.guards[0].source.line, 7);
  EXPECT_EQ(trace.guards[0].seen, SeenNumber(true));
  EXPECT_EQ(trace.guards[0].text, "bool(gt(sum(linear(x0, constant)), 0))");
  ASSERT_EQ(trace.syncs.size(), 1u);
  EXPECT_EQ(trace.syncs[0].use, SyncUse::kGuard);
  EXPECT_EQ(count(trace, "aten::exp"), 0u);
  expect_same(trace, {positive * 3}, program);
  expect_refused(trace, {-positive});
  expect_same(checked({-positive}, program), {-positive * 2}, program);
}

TEST(Syncs, TruthOfANumberIsAGuardOnItsTruth) {
  const CaptureProgram program = [](const Tensors& x) {
    return x[0].sum().is_nonzero() ? Tensors{x[0] + 1} : Tensors{x[0] - 1};
  };
  const Trace trace = checked({at::ones({3})}, program);
  EXPECT_TRUE(trace.findings.empty()) << all_findings(trace);
  expect_same(trace, {at::full({3}, 2.0)}, program);
  expect_refused(trace, {at::zeros({3})});
}

TEST(Syncs, EqualIsAGuard) {
  const CaptureProgram program = [](const Tensors& x) {
    return at::equal(x[0], x[1]) ? Tensors{x[0] + 1} : Tensors{x[0] * x[1]};
  };
  const at::Tensor a = at::randn({4}), b = at::randn({4});
  expect_same(checked({a, a.clone()}, program), {b, b.clone()}, program);
  const Trace differ = checked({a, b}, program);
  expect_same(differ, {b, a}, program);
  expect_refused(differ, {a, a});
}

TEST(Syncs, AllCloseIsAGuard) {
  const CaptureProgram program = [](const Tensors& x) {
    return at::allclose(x[0], x[1]) ? Tensors{x[0] + 1} : Tensors{x[0] * x[1]};
  };
  const at::Tensor a = at::rand({4}) + 1;
  const Trace trace = checked({a, a + 1e-7}, program);
  expect_same(trace, {a * 2, a * 2}, program);
  expect_refused(trace, {a, a * 2});
  const at::Tensor inf = at::full({4}, std::numeric_limits<float>::infinity());
  EXPECT_TRUE(guards_hold(trace, run_trace(trace, {inf, inf})->guards));
  expect_refused(trace, {a, inf});
}

TEST(Syncs, ConstantsNeedNoGuard) {
  const Trace trace = checked({at::randn({3})}, [](const Tensors& x) {
    const at::Tensor limit = at::arange(4, x[0].options()).sum();
    return limit.is_nonzero() ? Tensors{x[0] * limit.item<float>()} : x;
  });
  EXPECT_TRUE(trace.guards.empty());
  EXPECT_TRUE(trace.syncs.empty());
  EXPECT_EQ(verdict_of(trace), Verdict::kSound);
}

TEST(Syncs, WhatIsKeptIsGuardedWhereOtherCallsWriteIt) {
  const at::Tensor level = at::ones({});
  const CaptureProgram program = [&](const Tensors& x) {
    return (lazyrt::lift(level) < 0.5).item<bool>() ? Tensors{x[0]} : Tensors{x[0] * 2};
  };
  for (auto kept : {&CaptureRequest::buffers, &CaptureRequest::parameters}) {
    CaptureRequest request = request_for({at::ones({3})});
    request.*kept = {{"level", level}};
    const auto constant = capture_checked(request, program);
    ASSERT_TRUE(constant.ok()) << constant.failure().text;
    EXPECT_TRUE(constant->guards.empty());
    ASSERT_EQ(constant->asked.size(), 1u);
    EXPECT_EQ(constant->asked[0].name, "level");
    request.varying = {"level"};
    const auto varying = capture_checked(request, program);
    ASSERT_TRUE(varying.ok()) << varying.failure().text;
    EXPECT_EQ(varying->guards.size(), 1u);
    EXPECT_TRUE(varying->asked.empty());
  }
}

TEST(Syncs, BuffersThatAreHeldAreTakenForConstants) {
  const at::Tensor place = at::ones({1}, at::kLong);
  const CaptureProgram program = [&](const Tensors& x) {
    const at::Tensor at = lazyrt::lift(place);
    const int64_t row = at.item<int64_t>();
    at.select(0, 0).fill_(row + 1);
    return Tensors{x[0] * row};
  };
  CaptureRequest request = request_for({at::ones({3})});
  request.buffers = {{"place", place}};
  const auto guarded = capture_checked(request, program);
  ASSERT_TRUE(guarded.ok()) << guarded.failure().text;
  EXPECT_EQ(guarded->guards.size(), 1u);
  request.held = {"place"};
  const auto held = capture_checked(request, program);
  ASSERT_TRUE(held.ok()) << held.failure().text;
  EXPECT_EQ(held->states.size(), 1u);
  ASSERT_EQ(held->asked.size(), 1u);
  EXPECT_EQ(held->asked[0].name, "place");
}

// --- numbers ----------------------------------------------------------------------------------

TEST(Syncs, LoopCountIsAnIntegerGuard) {
  const CaptureProgram program = [](const Tensors& x) {
    at::Tensor y = x[0];
    const int64_t n = x[1].item<int64_t>();
    for (int64_t i = 0; i < n; ++i) y = at::sin(y);
    return Tensors{y};
  };
  const Trace trace = checked({at::randn({3}), at::tensor(int64_t{3})}, program);
  EXPECT_EQ(count(trace, "aten::sin"), 3u);
  ASSERT_EQ(trace.guards.size(), 1u) << all_findings(trace);
  EXPECT_EQ(trace.guards[0].seen, SeenNumber(int64_t{3}));
  EXPECT_EQ(verdict_of(trace), Verdict::kSpecialized) << all_findings(trace);
  expect_same(trace, {at::randn({3}), at::tensor(int64_t{3})}, program);
  expect_refused(trace, {at::randn({3}), at::tensor(int64_t{4})});
}

TEST(Syncs, BranchOnAnIntegerIsFoundThoughTheSamplesNeighboursTakeIt) {
  const Trace trace = checked({at::randn({3}), at::arange(5, 9)}, [](const Tensors& x) {
    return x[1][0].item<int64_t>() > 3 ? Tensors{x[0] + 1} : Tensors{at::exp(x[0])};
  });
  EXPECT_EQ(trace.guards.size(), 1u);
}

TEST(Syncs, BakedIntegerIsCoveredByItsGuard) {
  const CaptureProgram program = [](const Tensors& x) {
    return Tensors{x[0] * x[1].max().item<int64_t>()};
  };
  for (const at::Tensor& n : {at::tensor({4, 9, 2}), at::tensor({4})}) {
    const Trace trace = checked({at::randn({3}), n}, program);
    EXPECT_EQ(verdict_of(trace), Verdict::kSpecialized);
    EXPECT_TRUE(trace.findings.empty()) << all_findings(trace);
    ASSERT_EQ(trace.guards.size(), 1u);
    expect_same(trace, {at::randn({3}), n}, program);
    expect_refused(trace, {at::randn({3}), n + 1});
  }
}

/// The neighbours of the sample and whatever a probe would try take the same way; 17 does not.
TEST(Syncs, IntegerIsGuardedWhateverTheProgramDoesWithIt) {
  const CaptureProgram program = [](const Tensors& x) {
    return x[1].item<int64_t>() == 17 ? Tensors{at::exp(x[0])} : Tensors{x[0] + 1};
  };
  const Trace trace = checked({at::randn({3}), at::tensor(int64_t{3})}, program);
  ASSERT_EQ(trace.guards.size(), 1u);
  expect_refused(trace, {at::randn({3}), at::tensor(int64_t{17})});
}

TEST(Syncs, FloatThatLeavesBreaksTheTrace) {
  const CaptureProgram program = [](const Tensors& x) {
    double mean = 0;
    {
      const SourceScope scope = at_line(12);
      mean = x[0].mean().item<double>();
    }
    const SourceScope scope = at_line(13);
    return Tensors{x[0] * mean};
  };
  const Trace trace = checked({at::rand({5})}, program);
  EXPECT_EQ(verdict_of(trace), Verdict::kBroken);
  const Finding* finding = find(trace, "baked-value");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->source.line, 12);
  EXPECT_NE(finding->message.find("item(mean(x0)) at model.py:12"), std::string::npos)
      << finding->message;
  EXPECT_NE(finding->suggestion.find("item"), std::string::npos);
  ASSERT_EQ(trace.syncs.size(), 1u);
  EXPECT_EQ(trace.syncs[0].use, SyncUse::kBaked);
  EXPECT_TRUE(trace.guards.empty());

  CheckOptions allowing;
  allowing.allow = {"baked-value"};
  const Trace allowed = checked({at::rand({5})}, program, allowing);
  EXPECT_EQ(verdict_of(allowed), Verdict::kAllowed);
  EXPECT_TRUE(allowed.guards.empty());
  EXPECT_TRUE(find(allowed, "baked-value")->allowed);
}

TEST(Syncs, FloatsOfALoopAreOneFinding) {
  const Trace trace = checked({at::rand({5})}, [](const Tensors& x) {
    at::Tensor y = x[0];
    for (int i = 0; i < 5; ++i) {
      const SourceScope scope = at_line(3);
      y = y + std::floor(1000 * y.sum().item<double>());
    }
    return Tensors{y};
  });
  EXPECT_EQ(trace.findings.size(), 1u) << all_findings(trace);
  EXPECT_NE(all_findings(trace).find("model.py:3"), std::string::npos);
}

TEST(Syncs, FloatThatSteersBreaksTheTrace) {
  const Trace trace = checked({at::full({4}, 0.75)}, [](const Tensors& x) {
    const SourceScope scope = at_line(5);
    return x[0].mean().item<double>() > 0.5 ? Tensors{x[0] + 1} : Tensors{at::exp(x[0])};
  });
  EXPECT_EQ(verdict_of(trace), Verdict::kBroken);
  ASSERT_NE(find(trace, "baked-value"), nullptr);
  EXPECT_EQ(find(trace, "baked-value")->source.line, 5);
}

TEST(Syncs, PeekedNumbersAreNotes) {
  double seen = 0;
  const CaptureProgram program = [&](const Tensors& x) {
    seen +=
        peek(x[0].mean()).item<double>() + static_cast<double>(peek(x[1]).sum().item<int64_t>());
    return Tensors{x[0] + 1};
  };
  const Trace trace = checked({at::randn({5}), at::arange(3)}, program);
  EXPECT_EQ(verdict_of(trace), Verdict::kSound) << all_findings(trace);
  EXPECT_TRUE(trace.guards.empty());
  EXPECT_EQ(trace.nodes.size(), 1u) << trace.text();
  ASSERT_EQ(trace.syncs.size(), 2u);
  for (const TraceSync& sync : trace.syncs) EXPECT_EQ(sync.use, SyncUse::kNote) << sync.what;
}

TEST(Syncs, PeekedNumberThatIsUsedIsFound) {
  const Trace baked = checked({at::randn({5})}, [](const Tensors& x) {
    return Tensors{x[0] * peek(x[0].mean()).item<double>()};
  });
  EXPECT_EQ(verdict_of(baked), Verdict::kBroken);
}

// --- checks -----------------------------------------------------------------------------------

TEST(Checks, AssertionLeavesTheTraceSound) {
  const CaptureProgram program = [](const Tensors& x) {
    at::_assert_async(at::all(at::gt(x[0], 0)), "x has to be positive");
    return Tensors{at::log(x[0])};
  };
  const Trace trace = checked({at::rand({3}) + 1}, program);
  EXPECT_EQ(verdict_of(trace), Verdict::kSound) << all_findings(trace);
  ASSERT_EQ(trace.guards.size(), 1u);
  EXPECT_TRUE(trace.guards[0].check);
  EXPECT_EQ(trace.guards[0].text, "x has to be positive");
  expect_same(trace, {at::rand({3}) + 2}, program);
  expect_refused(trace, {at::randn({3}) - 9});
}

TEST(Checks, AssertionThatFailsIsTheProgramsError) {
  const std::string error = failure_of({at::ones({3})}, [](const Tensors& x) {
    require(at::all(at::lt(x[0], 1)), "x is below 1");
    return x;
  });
  EXPECT_NE(error.find("x is below 1"), std::string::npos) << error;
}

TEST(Checks, FactorizationsThatRaiseOnOtherMatrices) {
  const at::Tensor definite = at::eye(3) * 2 + 0.5, indefinite = -definite;
  const std::vector<CaptureProgram> programs = {
      [](const Tensors& x) { return Tensors{at::linalg_cholesky(x[0])}; },
      [](const Tensors& x) { return Tensors{at::cholesky(x[0])}; }};
  for (const CaptureProgram& program : programs) {
    const Trace trace = checked({definite}, program);
    EXPECT_EQ(verdict_of(trace), Verdict::kSound) << all_findings(trace);
    ASSERT_EQ(trace.guards.size(), 1u) << trace.text();
    EXPECT_TRUE(trace.guards[0].check);
    expect_same(trace, {definite * 3}, program);
    expect_refused(trace, {indefinite});
    EXPECT_NE(failure_of({indefinite}, program).find("not positive-definite"), std::string::npos);
  }
}

TEST(Checks, SingularMatricesAreRefused) {
  const at::Tensor regular = at::eye(3) + 0.25;
  const std::vector<CaptureProgram> programs = {
      [](const Tensors& x) { return Tensors{at::linalg_inv(x[0])}; },
      [](const Tensors& x) {
        return Tensors{at::linalg_solve(x[0], at::ones({3, 2}))};
      }};
  for (const CaptureProgram& program : programs) {
    const Trace trace = checked({regular}, program);
    EXPECT_EQ(verdict_of(trace), Verdict::kSound) << all_findings(trace);
    expect_same(trace, {regular * 3}, program);
    expect_refused(trace, {at::zeros({3, 3})});
    EXPECT_NE(failure_of({at::zeros({3, 3})}, program).find("singular"), std::string::npos);
  }
}

TEST(Checks, FactorizationThatMayFailIsAGuardWhereTheProgramTriesOn) {
  const at::Tensor definite = at::eye(3) * 2 + 0.5;
  const CaptureProgram program = [](const Tensors& x) {
    try {
      return Tensors{at::linalg_cholesky(x[0])};
    } catch (const c10::LinAlgError&) {
      return Tensors{x[0] * 0};
    }
  };
  CaptureRequest request = request_for({definite});
  request.is_caught = [] { return true; };
  const auto trace = capture_checked(request, program);
  ASSERT_TRUE(trace.ok()) << trace.failure().text;
  EXPECT_EQ(verdict_of(*trace), Verdict::kSpecialized);
  const Trace failing = checked({-definite}, program);
  EXPECT_EQ(verdict_of(failing), Verdict::kSpecialized);
  expect_same(failing, {definite * -3}, program);
  expect_refused(failing, {definite});
}

TEST(Checks, LookUpThatNobodyReadsIsAGuardWhereItsErrorIsCaught) {
  const CaptureProgram program = [](const Tensors& x) {
    try {
      at::index_select(at::ones({4, 2}), 0, x[0]);
    } catch (const c10::IndexError&) {
      return Tensors{x[0] * 0};
    }
    return Tensors{x[0] + 1};
  };
  const at::Tensor inside = at::tensor({0, 3}, at::kLong), outside = at::tensor({0, 4}, at::kLong);
  CaptureRequest request = request_for({inside});
  request.is_caught = [] { return true; };
  auto trace = capture_checked(request, program);
  ASSERT_TRUE(trace.ok()) << trace.failure().text;
  EXPECT_EQ(verdict_of(*trace), Verdict::kSpecialized);
  expect_same(*trace, {inside - inside}, program);
  expect_refused(*trace, {outside});
  request.inputs[0].tensor = outside;
  trace = capture_checked(request, program);
  ASSERT_TRUE(trace.ok()) << trace.failure().text;
  expect_same(*trace, {outside + 9}, program);
  expect_refused(*trace, {inside});
}

TEST(Checks, WhatIsCheckedAndSteersIsAGuard) {
  const CaptureProgram program = [](const Tensors& x) {
    const at::Tensor positive = at::all(at::gt(x[0], 0));
    const bool steers = positive.item<bool>();
    require(positive, "x is positive");
    return steers ? Tensors{x[0] + 1} : Tensors{at::exp(x[0])};
  };
  const Trace trace = checked({at::rand({3}) + 1}, program);
  EXPECT_EQ(verdict_of(trace), Verdict::kSpecialized);
}

TEST(Checks, OneHotChecksTheRangeOfItsIds) {
  const CaptureProgram program = [](const Tensors& x) { return Tensors{at::one_hot(x[0], 5)}; };
  const at::Tensor ids = at::tensor({0, 3, 1}, at::kLong);
  const Trace trace = checked({ids}, program);
  EXPECT_EQ(verdict_of(trace), Verdict::kSound) << all_findings(trace);
  EXPECT_EQ(trace.guards.size(), 2u) << trace.text();
  expect_same(trace, {at::tensor({4, 4, 0}, at::kLong)}, program);
  expect_refused(trace, {at::tensor({5, 4, 0}, at::kLong)});
  expect_refused(trace, {at::tensor({-1, 4, 0}, at::kLong)});
  const CaptureProgram open = [](const Tensors& x) { return Tensors{at::one_hot(x[0])}; };
  const Trace seen = checked({ids}, open);
  EXPECT_EQ(verdict_of(seen), Verdict::kSpecialized);
  expect_same(seen, {at::tensor({1, 1, 3}, at::kLong)}, open);
  expect_refused(seen, {at::tensor({1, 1, 2}, at::kLong)});
}

TEST(Syncs, NumbersAmongTheOutputs) {
  const auto number = [](double v) {
    at::Tensor t = at::scalar_tensor(v, at::TensorOptions().dtype(at::kDouble));
    t.unsafeGetTensorImpl()->set_wrapped_number(true);
    return t;
  };
  const Trace fixed = checked({at::randn({3})}, [&](const Tensors& x) {
    return Tensors{x[0] + 1, number(2.5)};
  });
  EXPECT_EQ(fixed.outputs.at(1).literal, SeenNumber(2.5));
  EXPECT_EQ(verdict_of(fixed), Verdict::kSound);
  const Trace baked = checked({at::randn({3})}, [&](const Tensors& x) {
    return Tensors{x[0] + 1, number(x[0].sum().item<double>())};
  });
  EXPECT_EQ(verdict_of(baked), Verdict::kBroken);
}

TEST(Syncs, EachValueIsComputedOnce) {
  constexpr int kSteps = 2000;
  const auto handle =
      at::addThreadLocalCallback(at::RecordFunctionCallback([](const at::RecordFunction& fn) {
                                   const bool on_cpu = !fn.inputs().empty() &&
                                                       fn.inputs()[0].isTensor() &&
                                                       fn.inputs()[0].toTensor().device().is_cpu();
                                   if (on_cpu && std::string(fn.name()) == "aten::sin") ++sines();
                                   return std::unique_ptr<at::ObserverContext>();
                                 })
                                     .needsInputs(true)
                                     .scopes({at::RecordScope::FUNCTION}));
  sines() = 0;
  const auto trace = capture(request_for({at::rand({4})}), [&](const Tensors& x) {
    at::Tensor y = x[0];
    for (int i = 0; i < kSteps; ++i) {
      y = at::sin(y);
      (void)(y.sum() > 100).item<bool>();
    }
    return Tensors{y};
  });
  at::removeCallback(handle);
  const int64_t computed = sines();
  ASSERT_TRUE(trace.ok()) << trace.failure().text;
  EXPECT_EQ(trace->guards.size(), static_cast<size_t>(kSteps));
  EXPECT_EQ(computed, kSteps);
}

// --- tensors that leave -----------------------------------------------------------------------

TEST(Syncs, TensorThatComesBackFromTheCpuIsBaked) {
  const Trace trace = checked({at::randn({3})}, [](const Tensors& x) {
    const SourceScope scope = at_line(4);
    return Tensors{x[0] + std::get<0>(at::sort(x[0].cpu()))};
  });
  EXPECT_EQ(verdict_of(trace), Verdict::kBroken);
  EXPECT_NE(all_findings(trace).find("to_cpu(x0) at model.py:4"), std::string::npos)
      << all_findings(trace);
}

TEST(Syncs, SizesFromAnIntegerTensorAreGuarded) {
  const CaptureProgram program = [](const Tensors& x) {
    const at::Tensor sizes = x[1].cpu();
    const auto* n = sizes.const_data_ptr<int64_t>();
    return Tensors{at::cat({x[0].narrow(0, 0, n[0]), x[0].narrow(0, n[0], n[1]) * 2})};
  };
  const at::Tensor sizes = at::tensor({int64_t{2}, int64_t{3}}, at::kLong);
  const Trace trace = checked({at::randn({6}), sizes}, program);
  EXPECT_EQ(verdict_of(trace), Verdict::kSpecialized) << all_findings(trace);
  EXPECT_EQ(trace.guards.at(0).text, "to_cpu(x1) == [2, 3]");
  expect_same(trace, {at::randn({6}), sizes}, program);
  expect_refused(trace, {at::randn({6}), sizes.flip(0)});
}

TEST(Syncs, FloatTensorThatLeavesBreaksTheTrace) {
  const Trace trace = checked({at::full({4}, 0.75f)}, [](const Tensors& x) {
    const at::Tensor copy = x[0].cpu();
    return *copy.const_data_ptr<float>() > 0.5f ? Tensors{x[0] + 1} : Tensors{at::exp(x[0])};
  });
  EXPECT_EQ(verdict_of(trace), Verdict::kBroken);
  EXPECT_NE(all_findings(trace).find("to_cpu(x0)"), std::string::npos) << all_findings(trace);
}

TEST(Syncs, WhatTheProgramWritesIntoACopyStaysThere) {
  const at::Tensor x = at::randn({3}), kept = x.clone();
  const Trace trace = checked({x}, [](const Tensors& in) {
    in[0].cpu().zero_();
    return Tensors{in[0] * 2, in[0] + in[0].cpu()};
  });
  EXPECT_TRUE(at::equal(x, kept));
  const auto run = run_trace(trace, {x});
  ASSERT_TRUE(run.ok()) << run.failure().text;
  expect_close(run->outputs[0], x * 2);
  expect_close(run->outputs[1], x * 2);
}

// --- without any sync ---------------------------------------------------------------------------

TEST(Syncs, ChangingNumbersWithoutASyncAreBaked) {
  int calls = 0;
  const Trace counter = checked({at::randn({3})}, [&](const Tensors& x) {
    const SourceScope scope = at_line(9);
    return Tensors{x[0] * ++calls};
  });
  EXPECT_EQ(verdict_of(counter), Verdict::kBroken);
  EXPECT_NE(all_findings(counter).find("model.py:9"), std::string::npos);
  EXPECT_NE(all_findings(counter).find("every number that was read on the host was the same"),
            std::string::npos);
  const Trace random = checked(
      {at::randn({3})}, [](const Tensors& x) { return Tensors{x[0] + at::rand({3}, at::kFloat)}; });
  EXPECT_EQ(verdict_of(random), Verdict::kBroken);
  double clock = 1.7e9;
  const Trace close =
      checked({at::randn({3})}, [&](const Tensors& x) { return Tensors{x[0] * (clock += 1)}; });
  EXPECT_NE(all_findings(close).find("1700000001, and 1700000002"), std::string::npos)
      << all_findings(close);
  // A printed number does not take the blame.
  const Trace printed = checked({at::randn({3})}, [&](const Tensors& x) {
    (void)peek(x[0].sum());
    return Tensors{x[0] * ++calls};
  });
  EXPECT_NE(all_findings(printed).find("every number that was read on the host was the same"),
            std::string::npos)
      << all_findings(printed);
}

TEST(Syncs, RandomNumbersThatReachNoResultAreNoFinding) {
  const CaptureProgram idle = [](const Tensors& x) {
    (void)(x[0] + at::rand_like(x[0]));
    return Tensors{x[0] + 1};
  };
  const Trace trace = checked({at::randn({3})}, idle);
  EXPECT_TRUE(trace.findings.empty()) << all_findings(trace);
  const Trace used = checked({at::randn({3})},
                             [](const Tensors& x) { return Tensors{x[0] + at::rand_like(x[0])}; });
  EXPECT_NE(find(used, "random"), nullptr);
}

TEST(Syncs, ProgramThatGoesAnotherWayIsUnstable) {
  int calls = 0;
  const Trace trace = checked({at::randn({3})}, [&](const Tensors& x) {
    return ++calls % 2 ? Tensors{x[0] + 1} : Tensors{at::exp(x[0])};
  });
  ASSERT_NE(find(trace, "unstable-program"), nullptr);
  EXPECT_NE(all_findings(trace).find("aten::add"), std::string::npos);
  EXPECT_EQ(verdict_of(trace), Verdict::kBroken);
}

TEST(Syncs, WhatChangesIsPutBackBeforeEachTrace) {
  int calls = 0;
  CaptureRequest request = request_for({at::randn({3})});
  int before = 0;
  request.before_trace = [&] {
    calls = 0;
    ++before;
  };
  const Trace trace = checked(request, [&](const Tensors& x) { return Tensors{x[0] * ++calls}; });
  EXPECT_EQ(verdict_of(trace), Verdict::kSound) << all_findings(trace);
  EXPECT_GE(before, 2);
}

TEST(Syncs, InterruptEndsItAll) {
  CaptureRequest request = request_for({at::randn({3})});
  int before = 0;
  std::exception_ptr thrown;
  request.thrown = &thrown;
  request.before_trace = [&] {
    if (++before == 2) throw std::domain_error("interrupted");
  };
  const auto trace = capture_checked(request, [](const Tensors& x) { return Tensors{x[0] + 1}; });
  EXPECT_FALSE(trace.ok());
  ASSERT_NE(thrown, nullptr);
  EXPECT_THROW(std::rethrow_exception(thrown), std::domain_error);
}

TEST(Syncs, ExceptionOfALaterRunIsAnotherPath) {
  CaptureRequest request = request_for({at::ones({3})});
  std::exception_ptr thrown;
  request.thrown = &thrown;
  const Trace trace = checked(request, [](const Tensors& x) {
    if (peek(x[0].sum()).item<double>() != 3) throw std::domain_error("not the sample");
    return Tensors{x[0] + 1};
  });
  EXPECT_EQ(thrown, nullptr);
  ASSERT_NE(find(trace, "unstable-program"), nullptr) << all_findings(trace);
  EXPECT_NE(all_findings(trace).find("not the sample"), std::string::npos) << all_findings(trace);
}

TEST(Syncs, ExampleTensorFromElsewhereIsFound) {
  const at::Tensor sample = at::rand({3});
  const Trace trace =
      checked({sample}, [&](const Tensors& x) { return Tensors{x[0] + sample.slice(0, 1)[0]}; });
  EXPECT_EQ(verdict_of(trace), Verdict::kBroken);
  EXPECT_NE(all_findings(trace).find("'x0' itself"), std::string::npos) << all_findings(trace);
}

TEST(Syncs, DeepGraphThatOutlivesItsCapture) {
  at::Tensor escaped;
  checked({at::rand({2})}, [&](const Tensors& x) {
    at::Tensor y = x[0];
    for (int i = 0; i < 60000; ++i) y = y * 1.5;
    escaped = y;
    return Tensors{x[0] + 1};
  });
  escaped = at::Tensor();
}

TEST(Syncs, TheProgramsExceptionIsHandedOn) {
  CaptureRequest request = request_for({at::randn({3})});
  std::exception_ptr thrown;
  request.thrown = &thrown;
  const auto trace = capture_checked(request, [](const Tensors& x) -> Tensors {
    if (x[0].sum().is_nonzero()) throw std::domain_error("mine");
    return x;
  });
  ASSERT_FALSE(trace.ok());
  ASSERT_NE(thrown, nullptr);
  EXPECT_THROW(std::rethrow_exception(thrown), std::domain_error);
  checked({at::randn({3})}, [](const Tensors& x) { return Tensors{x[0] + 1}; });
}

// --- constants ----------------------------------------------------------------------------------

TEST(Constants, TraceHoldsNoLiveMemoryOfTheCallers) {
  at::Tensor table = at::ones({3});
  const CaptureProgram program = [&](const Tensors& x) { return Tensors{x[0] + table}; };
  const Trace trace = checked({at::zeros({3})}, program);
  table.fill_(7);
  const auto run = run_trace(trace, {at::zeros({3})});
  ASSERT_TRUE(run.ok());
  expect_close(run->outputs[0], at::ones({3}));
}

TEST(Constants, ScratchTensorIsWhatItWasAtEachUse) {
  at::Tensor scratch = at::zeros({3});
  const CaptureProgram program = [&](const Tensors& x) {
    at::Tensor y = x[0];
    for (int i = 0; i < 3; ++i) {
      scratch.fill_(i);
      y = y * 2 + scratch;
      scratch.mutable_data_ptr<float>()[0] = 10;  // as NumPy does, unseen by the version
      y = y + scratch;
    }
    return Tensors{y};
  };
  const Trace trace = checked({at::randn({3})}, program);
  EXPECT_EQ(verdict_of(trace), Verdict::kSound) << all_findings(trace);
  expect_same(trace, {at::randn({3})}, program);
}

TEST(Syncs, RandomStateOfTheProcessStays) {
  at::manual_seed(7);
  const at::Tensor want = at::rand({3});
  at::manual_seed(7);
  checked({at::ones({3})}, [](const Tensors& x) { return Tensors{x[0] + at::rand({3})}; });
  EXPECT_TRUE(at::equal(at::rand({3}), want));
}

TEST(Syncs, ManyBakedNumbersAreCheckedInSeconds) {
  const auto start = std::chrono::steady_clock::now();
  const Trace trace = checked({at::rand({2}), at::tensor({3, 5})}, [](const Tensors& x) {
    at::Tensor y = x[0];
    for (int i = 0; i < 1500; ++i) y = y + 3 * (x[1].sum() + i).item<int64_t>();
    return Tensors{y};
  });
  EXPECT_EQ(verdict_of(trace), Verdict::kSpecialized);
  EXPECT_EQ(trace.guards.size(), 1500u);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

TEST(Syncs, LongTraceIsCheckedInSeconds) {
  const auto start = std::chrono::steady_clock::now();
  const Trace trace = checked({at::rand({2})}, [](const Tensors& x) {
    at::Tensor y = x[0];
    for (int i = 0; i < 12000; ++i) y = i % 2 ? y.sin() : y * 1.5;
    return Tensors{y};
  });
  EXPECT_EQ(trace.nodes.size(), 12000u);
  EXPECT_EQ(verdict_of(trace), Verdict::kSound);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

}  // namespace
}  // namespace lazyrt
