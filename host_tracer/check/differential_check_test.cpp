#include "host_tracer/check/differential_check.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <stdexcept>

#include "host_tracer/graph/elements.h"
#include "host_tracer/record/capture_testing.h"
#include "lazyrt/runtime.h"

namespace lazyrt {
namespace {

using capture_testing::at_line;
using capture_testing::checked;
using capture_testing::Tensors;
using ::testing::Contains;
using ::testing::HasSubstr;

/// A program that is told how many calls came since the last reset.
using CountedProgram = std::function<Tensors(const Tensors&, int call)>;

std::shared_ptr<const EagerReference> reference(CountedProgram program) {
  auto calls = std::make_shared<int>(0);
  auto eager = std::make_shared<EagerReference>();
  eager->call = [program, calls](const std::vector<SampleTensor>& samples, bool reset) {
    if (reset) *calls = 0;
    EagerRun run;
    Tensors inputs;
    for (const SampleTensor& sample : samples) inputs.push_back(from_sample(sample).clone());
    try {
      for (const at::Tensor& t : program(inputs, ++*calls)) {
        run.outputs.push_back({to_sample(t), std::nullopt});
      }
    } catch (const std::exception& e) {
      run.raised = e.what();
    }
    return run;
  };
  return eager;
}

std::shared_ptr<const EagerReference> reference(const CaptureProgram& program) {
  return reference([program](const Tensors& inputs, int) { return program(inputs); });
}

/// Every constant element `from` becomes `to`: a pass that is wrong.
Pass exchange_constant(double from, double to) {
  return {"exchange-constant", [=](Graph& graph) -> Outcome<size_t> {
            size_t changes = 0;
            for (ValueId id = 0; id < static_cast<ValueId>(graph.value_count()); ++id) {
              Value& value = graph.value(id);
              if (value.kind != ValueKind::kConstant || value.shape.numel() != 1) continue;
              if (read_element(value.dtype, value.constant.data, 0) != from) continue;
              const auto copy = std::make_shared<std::vector<uint8_t>>(value.bytes());
              write_element(value.dtype, copy->data(), 0, to);
              value.constant = {copy, copy->data(), copy->size()};
              ++changes;
            }
            return changes;
          }};
}

class DifferentialCheck : public ::testing::Test {
 protected:
  DifferentialCheck() {
    path_ = (std::filesystem::temp_directory_path() /
             ("lazyrt_check_" + std::to_string(getpid()) + ".lzb"))
                .string();
  }
  ~DifferentialCheck() override {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

  CheckReport check(const std::vector<Trace>& traces) {
    ExportOptions exporter;
    exporter.path = path_;
    exporter.pipeline = options_.pipeline;
    const auto exported = export_traces(traces, default_ops(), exporter);
    EXPECT_TRUE(exported.ok()) << exported.failure().text;
    const auto bundle = LoadedBundle::open(path_);
    EXPECT_TRUE(bundle.ok()) << bundle.failure().text;
    auto report = check_bundle(**bundle, traces, options_);
    EXPECT_TRUE(report.ok()) << report.failure().text;
    EXPECT_FALSE(std::filesystem::exists(path_ + ".part"));
    return report.ok() ? *report : CheckReport();
  }

  /// The program's bundle beside `eager`.
  CheckReport check(const Tensors& inputs, const CaptureProgram& program,
                    std::shared_ptr<const EagerReference> eager) {
    Trace trace = checked(inputs, program);
    trace.eager = std::move(eager);
    return check({trace});
  }
  CheckReport check(const Tensors& inputs, const CaptureProgram& program) {
    return check(inputs, program, reference(program));
  }

  void break_with(const Pass& pass) { options_.pipeline.insert(options_.pipeline.begin(), pass); }

  std::string path_;
  DifferentialOptions options_;
};

TEST_F(DifferentialCheck, ARightBundlePassesEveryCase) {
  at::manual_seed(1);  // some numbers are rounded alike everywhere
  const CheckReport report = check({at::randn({2, 8}), at::randn({8, 4})}, [](const Tensors& x) {
    return Tensors{at::softmax(x[0].matmul(x[1]), -1)};
  });
  EXPECT_EQ(report.difference, "");
  EXPECT_EQ(report.level, CheckLevel::kFull);
  EXPECT_GE(report.altered_compared, 6u);
  EXPECT_LE(report.eager_calls, options_.calls);
  EXPECT_GE(report.in_a_row, 4u);
  EXPECT_EQ(report.refused + report.raised + report.left_out, 0u);
  EXPECT_GT(report.worst(), 0);
  EXPECT_LE(report.worst(), 1);
  EXPECT_FALSE(report.sample_only());
}

TEST_F(DifferentialCheck, AWrongNodeIsFoundByBisection) {
  break_with(exchange_constant(3, 3.001));
  const CheckReport report = check({at::randn({4, 8})}, [](const Tensors& x) {
    at::Tensor y = x[0];
    for (int i = 0; i < 5; ++i) y = (y + 1).sin();
    {
      const auto here = at_line(42);
      y = y * 3;
    }
    for (int i = 0; i < 5; ++i) y = (y + 2).sin();
    return Tensors{y};
  });
  EXPECT_THAT(report.difference, HasSubstr("on the sample result 'output_0': element ["));
  EXPECT_THAT(report.difference, HasSubstr("First node that differs: aten::mul.Scalar at"));
  EXPECT_THAT(report.difference, HasSubstr("model.py:42"));
  EXPECT_FALSE(report.lines.at(0).ok);
}

TEST_F(DifferentialCheck, AWrongNodeOfOneBranchIsFound) {
  break_with(exchange_constant(3, 3.001));
  const CheckReport report = check({at::randn({4, 8})}, [](const Tensors& x) {
    at::Tensor wrong;
    {
      const auto here = at_line(7);
      wrong = x[0] - 3;
    }
    at::Tensor right = x[0];
    for (int i = 0; i < 6; ++i) right = (right + 1).sin();
    return Tensors{right, wrong.exp()};
  });
  EXPECT_THAT(report.difference, HasSubstr("aten::sub.Scalar"));
  EXPECT_THAT(report.difference, HasSubstr("model.py:7"));
}

TEST_F(DifferentialCheck, AnAnswerThatChangesWithTheSecondCall) {
  const CaptureProgram first = [](const Tensors& x) { return Tensors{x[0] * 2}; };
  const CheckReport report = check(
      {at::ones({3})}, first,
      reference([](const Tensors& x, int call) { return Tensors{x[0] * (call > 1 ? 3 : 2)}; }));
  EXPECT_THAT(report.difference, HasSubstr("call 2 in a row on the sample result 'output_0'"));
  EXPECT_THAT(report.difference, HasSubstr("something that the capture did not see"));
}

TEST_F(DifferentialCheck, AnAnswerThatChangesWithTheThirdCall) {
  const CaptureProgram first = [](const Tensors& x) { return Tensors{x[0] * 2}; };
  const CheckReport report = check(
      {at::ones({3})}, first,
      reference([](const Tensors& x, int call) { return Tensors{x[0] * (call > 2 ? 3 : 2)}; }));
  EXPECT_THAT(report.difference, HasSubstr("on altered inputs"));
}

TEST_F(DifferentialCheck, AnAnswerThatChangesWithALateCall) {
  const CaptureProgram first = [](const Tensors& x) { return Tensors{x[0] * 2}; };
  const CheckReport report = check(
      {at::ones({3})}, first,
      reference([](const Tensors& x, int call) { return Tensors{x[0] * (call > 7 ? 3 : 2)}; }));
  EXPECT_THAT(report.difference, HasSubstr("after other calls"));
}

TEST_F(DifferentialCheck, AnAnswerThatALargeInputChanges) {
  const CaptureProgram first = [](const Tensors& x) { return Tensors{x[0] * 2}; };
  auto seen = std::make_shared<bool>(false);
  const CheckReport report =
      check({at::ones({3})}, first, reference([=](const Tensors& x, int call) {
              *seen = (call > 1 && *seen) || x[0].max().item<float>() > 20;
              return Tensors{x[0] * (call > 6 && *seen ? 3 : 2)};
            }));
  EXPECT_THAT(report.difference, HasSubstr("after other calls"));
}

TEST_F(DifferentialCheck, StateGoesOnFromCallToCall) {
  CaptureRequest request;
  request.inputs = {{"x", at::ones({3})}};
  const at::Tensor sum = at::zeros({3});
  request.buffers = {{"sum", sum}};
  Trace trace = checked(request, [&](const Tensors& x) {
    at::Tensor lazy = lazyrt::lift(sum);
    lazy.add_(x[0]);
    return Tensors{lazy * 2};
  });
  auto kept = std::make_shared<at::Tensor>();
  const auto program = [kept](double factor) {
    return reference([=](const Tensors& x, int call) {
      *kept = call == 1 ? x[0].clone() : *kept * factor + x[0];
      return Tensors{*kept * 2};
    });
  };
  trace.eager = program(1);
  CheckReport report = check({trace});
  EXPECT_EQ(report.difference, "");
  EXPECT_GE(report.in_a_row, 4u);
  trace.eager = program(0.999);
  EXPECT_THAT(check({trace}).difference, HasSubstr("call 2 in a row"));
  trace.eager.reset();  // ATen evaluates the trace, with its states
  report = check({trace});
  EXPECT_EQ(report.difference, "");
  break_with(exchange_constant(2, 2.001));
  EXPECT_THAT(check({trace}).difference, HasSubstr("First node that differs: aten::mul.Scalar"));
}

TEST_F(DifferentialCheck, WhatOnlyOtherInputsShow) {
  const CaptureProgram captured = [](const Tensors& x) { return Tensors{x[0] * 2}; };
  const CheckReport report = check({at::rand({16})}, captured, reference([](const Tensors& x, int) {
                                     return Tensors{at::where(x[0] > -1, x[0] * 2, x[0] * 2.001)};
                                   }));
  EXPECT_THAT(report.difference, HasSubstr("on altered inputs (floats"));
}

TEST_F(DifferentialCheck, IntegersAreExact) {
  const CaptureProgram captured = [](const Tensors& x) { return Tensors{x[0] + 1000000}; };
  const CheckReport report =
      check({at::arange(5)}, captured,
            reference([](const Tensors& x, int) { return Tensors{x[0] + 1000001}; }));
  EXPECT_THAT(report.difference, HasSubstr("element [0] is 1000000, eager's 1000001"));
}

TEST_F(DifferentialCheck, ADecisionThatRoundingTakesIsUndecided) {
  // Two equal columns: which of them is the largest is eager's choice.
  const at::Tensor column = at::rand({6, 1}) + 1;
  const at::Tensor x = at::cat({column * 0.5, column, column}, 1);
  const CaptureProgram captured = [](const Tensors& t) { return Tensors{t[0].argmax(1)}; };
  CheckReport report = check({x}, captured, reference([](const Tensors& t, int) {
                               return Tensors{2 - t[0].flip({1}).argmax(1)};  // the last of them
                             }));
  EXPECT_EQ(report.difference, "");
  EXPECT_GE(report.undecided, 6);
  report = check({x}, captured, reference([](const Tensors& t, int) {
                   return Tensors{at::zeros_like(t[0].argmax(1))};
                 }));
  EXPECT_THAT(report.difference, HasSubstr(", eager's 0"));
}

TEST_F(DifferentialCheck, AnUndecidedElementIsOneOfEagersAnswers) {
  const at::Tensor column = at::rand({6, 1}) + 1;
  const at::Tensor x = at::cat({column * 0.5, column, column}, 1);
  const auto eager = reference([](const Tensors& t, int) { return Tensors{t[0].argmax(1) * 2}; });
  const CaptureProgram captured = [](const Tensors& t) { return Tensors{t[0].argmax(1) * 2}; };
  break_with(exchange_constant(2, 7));  // 7 or 14, where eager has 2 or 4
  EXPECT_THAT(check({x}, captured, eager).difference, HasSubstr("eager's 2"));
}

TEST_F(DifferentialCheck, ResultsBelowTheNormalNumbersAreCompared) {
  const at::Tensor weight = at::rand({8, 8}) * 1e-20;
  const CaptureProgram captured = [&](const Tensors& x) {
    return Tensors{x[0].matmul(weight).mul(1e-20)};
  };
  const auto times = [&](double factor) {
    return reference(
        [=](const Tensors& x, int) { return Tensors{x[0].matmul(weight).mul(1e-20).mul(factor)}; });
  };
  const at::Tensor x = at::rand({16, 8}) + 0.5;
  EXPECT_EQ(check({x}, captured, times(1)).difference, "");
  EXPECT_THAT(check({x}, captured, times(30)).difference, HasSubstr("times what is allowed"));
}

TEST_F(DifferentialCheck, WhatThisMachineFlushesToZeroIsNoDifference) {
  // XNNPACK's products take subnormal numbers for 0, eager's do not.
  const at::Tensor weight = at::rand({8, 8}) * 1e-39;
  const CheckReport report = check({at::rand({16, 8}) + 0.5}, [&](const Tensors& x) {
    return Tensors{at::linear(x[0], weight)};
  });
  EXPECT_EQ(report.difference, "");
}

TEST_F(DifferentialCheck, FloatsBehindSuchADecisionAreNotCompared) {
  const at::Tensor column = at::rand({6, 1}) + 1,
                   table = at::arange(30, at::kFloat).reshape({3, 10});
  const at::Tensor x = at::cat({column * 0.5, column, column}, 1);
  const CaptureProgram routed = [&](const Tensors& t) {
    return Tensors{table.index_select(0, t[0].argmax(1))};
  };
  const auto other = reference([&](const Tensors& t, int) {
    return Tensors{table.index_select(0, 2 - t[0].flip({1}).argmax(1))};
  });
  EXPECT_EQ(check({x}, routed, other).difference, "");
}

TEST_F(DifferentialCheck, InputsOnWhichEagerRaisesAreDroppedAndCounted) {
  const CaptureProgram captured = [](const Tensors& x) { return Tensors{x[0] + 1}; };
  const CheckReport report = check({at::rand({4})}, captured, reference([](const Tensors& x, int) {
                                     if (x[0].max().item<float>() > 1)
                                       throw std::runtime_error("too large");
                                     return Tensors{x[0] + 1};
                                   }));
  EXPECT_EQ(report.difference, "");
  EXPECT_GT(report.raised, 0u);
  EXPECT_EQ(report.raised + report.altered_compared, report.altered);
}

TEST_F(DifferentialCheck, TooFewAlteredInputsAreTold) {
  const at::Tensor x = at::rand({4});
  const CaptureProgram captured = [](const Tensors& t) { return Tensors{t[0] + 1}; };
  const CheckReport report = check({x}, captured, reference([=](const Tensors& t, int) {
                                     if (!at::equal(t[0], x)) throw std::runtime_error("no");
                                     return Tensors{t[0] + 1};
                                   }));
  EXPECT_TRUE(report.sample_only());
  EXPECT_THAT(check_sentences(report), Contains(HasSubstr("checked on the sample only")));
}

TEST_F(DifferentialCheck, ResultsThatLeaveTheFiniteNumbersAreDropped) {
  const CheckReport report =
      check({at::rand({4}) + 1}, [](const Tensors& x) { return Tensors{x[0].log()}; });
  EXPECT_EQ(report.difference, "");
  EXPECT_GT(report.not_finite, 0u);  // negated
  EXPECT_GT(report.altered_compared, 0u);
}

TEST_F(DifferentialCheck, ANanOfTheBundleIsNoneOfEager) {
  const CaptureProgram captured = [](const Tensors& x) { return Tensors{x[0].log()}; };
  const CheckReport report =
      check({at::rand({4}) + 1}, captured,
            reference([](const Tensors& x, int) { return Tensors{x[0].clamp_min(1e-3).log()}; }));
  EXPECT_THAT(report.difference, HasSubstr("is nan"));
}

TEST_F(DifferentialCheck, RefusedInputsAreCounted) {
  const CheckReport report = check({at::rand({4}) + 1}, [](const Tensors& x) {
    return (x[0].sum() > 2).item<bool>() ? Tensors{x[0] + 1} : Tensors{x[0] - 1};
  });
  EXPECT_EQ(report.difference, "");
  EXPECT_GT(report.refused, 0u);
  EXPECT_GT(report.altered_compared, 0u);
  EXPECT_EQ(report.refused + report.altered_compared, report.altered);
  EXPECT_THAT(check_sentences(report),
              Contains(HasSubstr("refused " + std::to_string(report.refused))));
}

TEST_F(DifferentialCheck, EachSampleIsChecked) {
  const CaptureProgram program = [](const Tensors& x) {
    return (x[0].sum() > 0).item<bool>() ? Tensors{x[0] + 1} : Tensors{x[0] * 3};
  };
  std::vector<Trace> traces = {checked({at::rand({4}) + 1}, program),
                               checked({-at::rand({4}) - 1}, program)};
  for (Trace& trace : traces) trace.eager = reference(program);
  CheckReport report = check(traces);
  EXPECT_EQ(report.difference, "");
  EXPECT_EQ(report.lines.size(), 2u);
  EXPECT_EQ(report.refused, 0u);  // one of the two variants fits
  break_with(exchange_constant(3, 3.01));
  report = check(traces);
  EXPECT_THAT(report.difference, HasSubstr("aten::mul.Scalar"));
}

TEST_F(DifferentialCheck, OtherShapesAndTypesAreDifferences) {
  const CaptureProgram captured = [](const Tensors& x) { return Tensors{x[0] + 1}; };
  EXPECT_THAT(check({at::rand({4})}, captured, reference([](const Tensors& x, int) {
                      return Tensors{(x[0] + 1).to(at::kDouble)};
                    }))
                  .difference,
              HasSubstr("is f32[4], eager's f64[4]"));
  EXPECT_THAT(check({at::rand({4})}, captured, reference([](const Tensors& x, int) {
                      return Tensors{x[0] + 1, x[0]};
                    }))
                  .difference,
              HasSubstr("the bundle has 1 results, eager 2"));
}

TEST_F(DifferentialCheck, RoundingFarFromEagersIsToldFromAnError) {
  // 1e4 - 1e4: float32 leaves noise, which is no difference.
  const CheckReport report = check({at::rand({1, 32, 32})}, [](const Tensors& x) {
    const at::Tensor y = x[0] * 1e4;
    return Tensors{(y.matmul(y) - y.matmul(y + 1e-4)).sum(-1)};
  });
  EXPECT_EQ(report.difference, "");
}

TEST_F(DifferentialCheck, EachOfManyResultsHasItsRounding) {
  const at::Tensor weight = at::rand({512, 8}) - 0.5;
  const CaptureProgram captured = [&](const Tensors& x) {
    const at::Tensor noise = (x[0] * 0 + 0.3).matmul(weight) * 1e6 - weight.sum(0) * 3e5;
    return Tensors{noise, noise + 1, noise + 2, noise + 3, noise + 4, noise + 5, noise + 6};
  };
  const auto eager = reference([&](const Tensors& x, int) {
    const at::Tensor sums = (x[0] * 0 + 0.3).flip({1}).matmul(weight.flip({0}).contiguous());
    const at::Tensor noise = sums * 1e6 - weight.sum(0) * 3e5;
    return Tensors{noise, noise + 1, noise + 2, noise + 3, noise + 4, noise + 5, noise + 6};
  });
  EXPECT_EQ(check({at::rand({4, 512})}, captured, eager).difference, "");
}

TEST_F(DifferentialCheck, TheOrderInWhichProductsAreAddedDecidesNothing) {
  // Rows whose sums are equal but for rounding; eager adds them in another order.
  const at::Tensor row = at::rand({1, 512}) - 0.5;
  const at::Tensor weight = at::cat({row, row.roll(101, 1), row.flip({1})}).t().contiguous();
  const CaptureProgram captured = [&](const Tensors& x) {
    return Tensors{((x[0] * 0 + 0.3).matmul(weight)).argmax(1)};
  };
  const auto eager = reference([&](const Tensors& x, int) {
    const at::Tensor sums = (x[0] * 0 + 0.3).flip({1}).matmul(weight.flip({0}).contiguous());
    return Tensors{sums.argmax(1)};
  });
  EXPECT_EQ(check({at::rand({4, 512})}, captured, eager).difference, "");
}

TEST_F(DifferentialCheck, ATraceThatCannotBeEvaluatedIsSaid) {
  Trace trace = checked({at::rand({8})}, [](const Tensors& x) { return Tensors{x[0] * 2}; });
  trace.nodes.at(0).op = "aten::mul_of_nowhere";  // not to be evaluated at all
  trace.eager = reference([](const Tensors& x, int) { return Tensors{x[0] * 2.5}; });
  ExportOptions exporter;
  exporter.path = path_;
  const auto exported =
      export_trace(checked({at::rand({8})}, [](const Tensors& x) { return Tensors{x[0] * 2}; }),
                   default_ops(), exporter);
  ASSERT_TRUE(exported.ok());
  const auto bundle = LoadedBundle::open(path_);
  ASSERT_TRUE(bundle.ok());
  const auto report = check_bundle(**bundle, {trace}, options_);
  ASSERT_TRUE(report.ok());
  EXPECT_THAT(report->notes, Contains(HasSubstr("could not be evaluated by ATen")));
  EXPECT_NE(report->difference, "");
}

TEST_F(DifferentialCheck, LevelsAreKept) {
  const CaptureProgram program = [](const Tensors& x) { return Tensors{x[0] + 1}; };
  options_.level = CheckLevel::kSample;
  CheckReport report = check({at::rand({4})}, program);
  EXPECT_EQ(report.altered, 0u);
  EXPECT_EQ(report.calls, 2u);
  options_.level = CheckLevel::kFull;
  options_.calls = 4;
  report = check({at::rand({4})}, program);
  EXPECT_EQ(report.altered, 1u);
  EXPECT_EQ(report.calls, 4u);
  EXPECT_EQ(report.eager_calls, 4u);
  EXPECT_GT(report.left_out, 0u);
}

}  // namespace
}  // namespace lazyrt
