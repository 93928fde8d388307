// What C++ programs keep outside of registered buffers.

#include <gtest/gtest.h>
#include <torch/nn/modules/linear.h>

#include "host_tracer/frontends/cpp/trace.h"
#include "host_tracer/frontends/shared/trace_checks.h"

namespace lazyrt {
namespace {

using test::has_finding;
using torch::Tensor;

struct MembraneImpl : torch::nn::Module {
  Tensor forward(const Tensor& x) {
    const SourceScope here(source_here());
    mem = mem.defined() ? mem * 0.9 + x : x * 1.0;
    return mem;
  }
  Tensor mem;
};

struct PastInputImpl : torch::nn::Module {
  Tensor forward(const Tensor& x) {
    const Tensor before = std::exchange(past, x);
    return before.defined() ? x - before : x;
  }
  Tensor past;
};

/// Which nobody would see who compares a few calls.
struct CounterImpl : torch::nn::Module {
  Tensor forward(const Tensor& x) { return ++calls > 1000 ? x * 2 : x; }
  int calls = 0;
};

struct RecorderImpl : torch::nn::Module {
  explicit RecorderImpl(std::shared_ptr<std::vector<Tensor>> log) : seen(std::move(log)) {}
  Tensor forward(const Tensor& x) {
    seen->push_back(x * 2);
    return x + 1;
  }
  std::shared_ptr<std::vector<Tensor>> seen;
};

struct FirstCallImpl : torch::nn::Module {
  Tensor forward(const Tensor& x) {
    if (!ready) table = torch::arange(3, torch::kFloat);
    ready = true;
    return x + table;
  }
  bool ready = false;
  Tensor table;
};

/// Counts in a tensor that nobody has registered.
struct StepsImpl : torch::nn::Module {
  Tensor forward(const Tensor& x) {
    const SourceScope here(source_here());
    steps += 1;
    return steps.item<int64_t>() > 60 ? x * 2 : x * 3;
  }
  Tensor steps = torch::zeros({}, torch::kLong);
};

struct ScheduleImpl : torch::nn::Module {
  Tensor forward(const Tensor& x) {
    tick += 1;
    scale.copy_(torch::where(tick > 60, torch::tensor(5.f), torch::tensor(1.f)));
    return x * scale;
  }
  Tensor scale = torch::ones({}), tick = torch::zeros({}, torch::kLong);
};

struct OwnScratchImpl : torch::nn::Module {
  Tensor forward(const Tensor& x) {
    Tensor weights = torch::tensor({1.f, 2.f, 3.f});
    weights.mul_(2).select(0, 0).add_(1);
    return x * weights;
  }
};

struct GradientModeImpl : torch::nn::Module {
  Tensor forward(const Tensor& x) { return at::GradMode::is_enabled() ? x * 2 : x * 3; }
};

struct FallbackImpl : torch::nn::Module {
  Tensor forward(const Tensor& x) {
    try {
      return torch::linalg_cholesky(x);
    } catch (const c10::Error&) {
      return x * 2;
    }
  }
};

/// The first finding of that id, or one that says so.
Finding finding_of(const Outcome<Trace>& trace, const std::string& id) {
  if (!trace.ok()) return Finding{.message = "failed: " + trace.failure().text};
  for (const Finding& finding : trace->findings) {
    if (finding.id == id) return finding;
  }
  return Finding{.message = "no such finding"};
}

const std::vector<Tensor> kInputs = {torch::arange(3, torch::kFloat)};

TEST(KeptState, TensorInAMemberIsAnErrorByLine) {
  const auto trace = lazyrt::trace(std::make_shared<MembraneImpl>(), kInputs);
  ASSERT_TRUE(trace.ok()) << trace.failure().text;
  const Finding finding = finding_of(trace, "changing-attribute");
  EXPECT_EQ(finding.severity, Severity::kError) << finding.message;
  EXPECT_NE(finding.source.text().find("kept_state_test.cpp"), std::string::npos);
  EXPECT_EQ(verdict_of(*trace), Verdict::kBroken);
}

TEST(KeptState, PastInputIsAnError) {
  const auto trace = lazyrt::trace(std::make_shared<PastInputImpl>(), kInputs);
  EXPECT_EQ(finding_of(trace, "changing-attribute").severity, Severity::kError);
}

TEST(KeptState, CounterInAModuleIsAnError) {
  const auto trace = lazyrt::trace(std::make_shared<CounterImpl>(), kInputs);
  EXPECT_EQ(finding_of(trace, "changing-attribute").severity, Severity::kError);
}

TEST(KeptState, CounterInALambdaIsAnError) {
  const auto program = [calls = 0](const Tensor& x) mutable { return ++calls > 1000 ? x * 2 : x; };
  const auto trace = lazyrt::trace(program, kInputs);
  EXPECT_EQ(finding_of(trace, "changing-attribute").severity, Severity::kError);
}

TEST(KeptState, WriteIntoAnUnregisteredTensorIsAnErrorByLine) {
  const auto trace = lazyrt::trace(std::make_shared<StepsImpl>(), kInputs);
  const Finding finding = finding_of(trace, "changing-attribute");
  EXPECT_EQ(finding.severity, Severity::kError) << finding.message;
  EXPECT_NE(finding.source.text().find("kept_state_test.cpp"), std::string::npos);
}

TEST(KeptState, ScheduleInUnregisteredTensorsIsAnError) {
  const auto trace = lazyrt::trace(std::make_shared<ScheduleImpl>(), kInputs);
  EXPECT_EQ(finding_of(trace, "changing-attribute").severity, Severity::kError);
}

TEST(KeptState, WriteIntoATensorOfThisCallIsNoFinding) {
  const auto trace = lazyrt::trace(std::make_shared<OwnScratchImpl>(), kInputs);
  ASSERT_TRUE(trace.ok()) << trace.failure().text;
  EXPECT_EQ(verdict_of(*trace), Verdict::kSound);
}

TEST(KeptState, GradientModeThatMattersIsAnError) {
  const auto trace = lazyrt::trace(std::make_shared<GradientModeImpl>(), kInputs);
  EXPECT_EQ(finding_of(trace, "gradient-mode").severity, Severity::kError);
}

TEST(KeptState, WhatCppMayCatchIsAGuard) {
  const auto trace =
      lazyrt::trace(std::make_shared<FallbackImpl>(), {torch::eye(2) * 2 + torch::ones({2, 2})});
  ASSERT_TRUE(trace.ok()) << trace.failure().text;
  EXPECT_EQ(verdict_of(*trace), Verdict::kSpecialized);
}

TEST(KeptState, WhatIsOnlyWrittenIsANote) {
  const auto log = std::make_shared<std::vector<Tensor>>();
  const auto trace = lazyrt::trace(std::make_shared<RecorderImpl>(log), kInputs);
  ASSERT_TRUE(trace.ok()) << trace.failure().text;
  EXPECT_EQ(finding_of(trace, "only-written").severity, Severity::kNote);
  EXPECT_EQ(verdict_of(*trace), Verdict::kSound);
}

TEST(KeptState, WhatTheFirstCallAloneChangesIsNoFinding) {
  const auto trace = lazyrt::trace(std::make_shared<FirstCallImpl>(), kInputs);
  ASSERT_TRUE(trace.ok()) << trace.failure().text;
  EXPECT_EQ(verdict_of(*trace), Verdict::kSound);
}

}  // namespace
}  // namespace lazyrt
