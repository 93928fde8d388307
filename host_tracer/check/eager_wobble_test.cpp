#include "host_tracer/check/eager_wobble.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "host_tracer/record/capture_testing.h"

namespace lazyrt {
namespace {

using capture_testing::checked;
using capture_testing::Tensors;

/// Evaluations until the wobble is whole, of all, and of all where decisions change.
constexpr int kWhole = 4, kAll = 12, kAllOfDecisions = 96;

/// Rounded sums, ties, rows that change places, elements that are infinite by rounding.
Tensors rounded(const Tensors& x) {
  const at::Tensor y = x[0].matmul(x[1]);
  const at::Tensor best = std::get<1>(at::topk(y.sum(1), 8));
  return {y, y.argmax(-1), y.index_select(0, best), (y - y.roll(1, 0).roll(-1, 0)).reciprocal()};
}

/// By 1e-8 to 1e-3, or one in up to five of its integers.
at::Tensor changed(const at::Tensor& x, double how_much) {
  if (at::isFloatingType(x.scalar_type())) {
    return x + at::randn_like(x) * std::pow(10.0, -8 + 5 * how_much);
  }
  return x + at::rand(x.sizes()).lt(how_much / 5);
}

class EagerWobbleTest : public ::testing::Test {
 protected:
  EagerWobbleTest() {
    at::manual_seed(1);
    inputs_ = {at::randn({32, 64}), at::randn({64, 16})};
    inputs_[1].select(1, 3) = inputs_[1].select(1, 2);
    inputs_[0].slice(0, 0, 16) = inputs_[0].slice(0, 16);
    groups_ = {{checked(inputs_, rounded), {0}}};
  }

  EagerWobble wobble() const { return {groups_, {{inputs_, 0}}, 1}; }

  Tensors inputs_;
  std::vector<TraceGroup> groups_;
};

TEST_F(EagerWobbleTest, IsWholeAfterEveryKindOfEvaluationAndAfterEachPair) {
  EagerWobble one = wobble();
  int count = 0;
  while (one.learn()) {
    ++count;
    EXPECT_EQ(one.of(0).whole, count >= kWhole && count % 2 == 0) << count;
    EXPECT_EQ(one.of(0).seen.size(), static_cast<size_t>(count) + 1);
  }
  EXPECT_EQ(count, kAllOfDecisions);
  EXPECT_TRUE(one.notes().empty());
}

TEST_F(EagerWobbleTest, EndsSoonerWhereNoDecisionChanges) {
  const std::vector<TraceGroup> groups = {
      {checked(inputs_,
               [](const Tensors& x) {
                 return Tensors{x[0].matmul(x[1]), x[0].sum(1).gt(1e6)};
               }),
       {0}}};
  EagerWobble one = {groups, {{inputs_, 0}}, 1};
  int count = 0;
  while (one.learn()) ++count;
  EXPECT_EQ(count, kAll);
}

TEST_F(EagerWobbleTest, WhatPassesEarlyPassesWhenTheWobbleIsWhole) {
  const Tensors eager = rounded(inputs_);
  std::vector<std::vector<Wobble>> learned(eager.size());  // by result, by evaluations
  for (EagerWobble one = wobble(); one.learn();) {
    for (size_t i = 0; i < eager.size(); ++i) learned[i].push_back(one.of(i));
  }
  int passed = 0, refused = 0;
  for (size_t i = 0; i < eager.size(); ++i) {
    for (int trial = 0; trial < 60; ++trial) {
      const at::Tensor ours = changed(eager[i], trial / 60.0);
      for (int stage = 0; stage < kAll; ++stage) {
        const size_t whole = static_cast<size_t>(stage < kWhole ? kWhole - 1 : stage | 1);
        if (!compare_results(ours, eager[i], learned[i][static_cast<size_t>(stage)]).ok) continue;
        EXPECT_TRUE(compare_results(ours, eager[i], learned[i][whole]).ok)
            << "result " << i << ", trial " << trial << ", evaluation " << stage + 1;
        passed += stage == 0 ? 1 : 0;
      }
      refused += compare_results(ours, eager[i], learned[i].back()).ok ? 0 : 1;
    }
  }
  EXPECT_GT(passed, 20);
  EXPECT_GT(refused, 20);
}

TEST_F(EagerWobbleTest, OneEvaluationMovesNearlyAllSums) {
  EagerWobble one = wobble();
  ASSERT_TRUE(one.learn());
  EXPECT_GT((one.of(0).size > 0).sum().item<int64_t>(), 32 * 16 * 8 / 10);
}

}  // namespace
}  // namespace lazyrt
