#include "host_tracer/check/bound.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lazyrt {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

at::Tensor floats(const std::vector<float>& values) { return at::tensor(values); }

bool agree(const std::vector<float>& ours, const std::vector<float>& eager) {
  return compare_results(floats(ours), floats(eager), {}).ok;
}

TEST(Bound, IsOfTheElementAndOfItsChannel) {
  EXPECT_TRUE(agree({100.0009f, 1}, {100, 1}));   // 1e-5 of 100
  EXPECT_FALSE(agree({100.0012f, 1}, {100, 1}));  // and 1e-6 of 100
  EXPECT_TRUE(agree({100, 1.0001f}, {100, 1}));   // 1e-6 of 100 for the small one, too
  EXPECT_FALSE(agree({100, 1.0002f}, {100, 1}));  // which is not 1e-4 of 100, as it used to be
}

TEST(Bound, ASmallChannelIsNotHiddenByALargeOne) {
  const at::Tensor eager = at::ones({1, 2, 8, 8});
  eager.select(1, 0).fill_(1e6);
  const at::Tensor ours = eager.clone();
  ours.index_put_({at::tensor(0), at::tensor(1), at::tensor(3), at::tensor(5)}, at::tensor(1.001f));
  const Comparison found = compare_results(ours, eager, {});
  EXPECT_FALSE(found.ok);
  EXPECT_EQ(found.over, 1);
  EXPECT_EQ(found.worst, "element [0,1,3,5] is 1.00100005, eager's 1");
}

TEST(Bound, TokensHaveTheirChannelInTheLastDim) {
  const at::Tensor x = at::ones({1, 32, 20});
  x.select(2, 7).fill_(1e4);
  const at::Tensor largest = channel_maximum(x);
  EXPECT_EQ(largest[0][0][7].item<double>(), 1e4);
  EXPECT_EQ(largest[0][0][8].item<double>(), 1);
}

TEST(Bound, AChannelOfFewElementsIsNone) {
  const at::Tensor logits = at::ones({1, 1000});
  logits[0][3] = 50;
  EXPECT_EQ(channel_maximum(logits).min().item<double>(), 50);
}

TEST(Bound, WobbleWidensItEightTimes) {
  const at::Tensor eager = floats({1, 2}), wobble = at::tensor({1e-3, 1e-3}, at::kDouble);
  EXPECT_TRUE(compare_results(floats({1.0079f, 2}), eager, {wobble, {}}).ok);
  EXPECT_FALSE(compare_results(floats({1.0082f, 2}), eager, {wobble, {}}).ok);
}

TEST(Bound, AnElementThatStaysByLuckHasTheWobbleOfItsChannel) {
  const at::Tensor eager = at::ones({64});
  at::Tensor wobble = at::full({64}, 1e-3, at::kDouble);
  wobble[5] = 0;
  at::Tensor ours = eager.clone();
  ours[5] = 1.005;
  EXPECT_TRUE(compare_results(ours, eager, {wobble, {}}).ok);
  wobble = at::arange(64, at::kDouble) * 1e-5;  // of 64 elements 60 move by less than 6e-4
  ours[5] = 1.0047;
  EXPECT_TRUE(compare_results(ours, eager, {wobble, {}}).ok);
  ours[5] = 1.0049;
  EXPECT_FALSE(compare_results(ours, eager, {wobble, {}}).ok);
  wobble.slice(0, 6) = 0;  // one that moves is no rule for all the others
  wobble[4] = 1;
  wobble.slice(0, 0, 4) = 1e-9;
  EXPECT_FALSE(compare_results(ours, eager, {wobble, {}}).ok);
}

TEST(Bound, WhatHasNotMovedYetIsHeldToTheLowestThatItMayHave) {
  const at::Tensor eager = at::ones({64});
  Wobble early{at::zeros({64}, at::kDouble), {}, /*whole=*/false};
  early.size[4] = 1e-3;
  at::Tensor ours = eager.clone();
  ours[5] = 1.005;
  EXPECT_FALSE(compare_results(ours, eager, early).ok);  // others may move by 1e-9
  early.size.fill_(1e-3);
  EXPECT_TRUE(compare_results(ours, eager, early).ok);
}

TEST(Bound, RowsChangePlacesOnlyWhereTheWobbleIsWhole) {
  const at::Tensor eager = at::rand({1, 40, 8});
  at::Tensor ours = eager.clone();
  ours[0][3] = eager[0][4];
  ours[0][4] = eager[0][3];
  const at::Tensor other = ours.to(at::kDouble);
  Wobble wobble{(other - eager).abs() / 16, {eager.to(at::kDouble), other}};
  EXPECT_TRUE(compare_results(ours, eager, wobble).ok);
  wobble.whole = false;
  EXPECT_FALSE(compare_results(ours, eager, wobble).ok);
}

TEST(Bound, NanAndInfinityMatchTheirLikes) {
  EXPECT_TRUE(agree({kNan, kInf, -kInf, 1}, {kNan, kInf, -kInf, 1}));
  EXPECT_FALSE(agree({kNan, 1}, {1, 1}));
  EXPECT_FALSE(agree({1, 1}, {kNan, 1}));
  EXPECT_FALSE(agree({kInf, 1}, {-kInf, 1}));
  EXPECT_FALSE(agree({kInf, 1}, {1, 1}));
  EXPECT_TRUE(agree({}, {}));
  EXPECT_FALSE(agree({1e-30f, 0}, {0, 0}));
}

TEST(Bound, SubnormalResultsAreJudgedByWhatFlushingMakesOfThem) {
  const float tiny = 1e-39f;
  const at::Tensor eager = at::full({64}, tiny);
  EXPECT_FALSE(compare_results(at::zeros({64}), eager, {}).ok);
  EXPECT_TRUE(agree({1.000001e-39f}, {tiny}));
  const Wobble flushed{at::full({64}, 1e-39, at::kDouble), {}};
  EXPECT_TRUE(compare_results(at::zeros({64}), eager, flushed).ok);
  EXPECT_FALSE(compare_results(at::full({64}, 1.1e-38f), eager, flushed).ok);
  EXPECT_FALSE(compare_results(at::full({64}, kNan), eager, flushed).ok);
}

Wobble flips(const std::vector<at::Tensor>& seen) { return {{}, seen}; }

TEST(Bound, IntegersAreExactUnlessEagerChangesThemSo) {
  const at::Tensor eager = at::tensor({1000000, 5, 7});
  const auto compared = [&](int64_t first, const Wobble& wobble) {
    return compare_results(at::tensor({first, int64_t{5}, int64_t{7}}), eager, wobble);
  };
  Comparison found = compared(1000001, {});
  EXPECT_FALSE(found.ok);
  EXPECT_EQ(found.worst, "element [0] is 1000001, eager's 1000000");
  const at::Tensor other = at::tensor({1000001, 5, 7}), elsewhere = at::tensor({1000000, 5, 9});
  found = compared(1000001, flips({eager, other}));
  EXPECT_TRUE(found.ok);
  EXPECT_EQ(found.undecided, 1);
  EXPECT_FALSE(compared(1000002, flips({eager, other})).ok);
  EXPECT_FALSE(compared(-1, flips({eager, other})).ok);
  EXPECT_FALSE(compared(1000001, flips({eager, elsewhere})).ok);
  EXPECT_FALSE(compared(1000001, flips({other, other + 1})).ok);  // eager's own is none of them
}

TEST(Bound, OfManyTiesNotAllHaveToBeSeen) {
  const at::Tensor eager = at::tensor({3, 0});
  const Wobble ties = flips({eager, at::tensor({10, 0}), at::tensor({5, 0}), at::tensor({3, 0})});
  EXPECT_TRUE(compare_results(at::tensor({7, 0}), eager, ties).ok);
  EXPECT_TRUE(compare_results(at::tensor({12, 0}), eager, ties).ok);
  EXPECT_FALSE(compare_results(at::tensor({40, 0}), eager, ties).ok);
  EXPECT_FALSE(compare_results(at::tensor({-9, 0}), eager, ties).ok);
  EXPECT_FALSE(compare_results(at::tensor({3, 1}), eager, ties).ok);
}

TEST(Bound, WhatIsInfiniteOrNotByRoundingIsOneOfEagersAnswers) {
  const at::Tensor eager = floats({kInf, 1});
  const at::Tensor size = at::tensor({std::numeric_limits<double>::infinity(), 0.0}, at::kDouble);
  const Wobble wobble{size, {eager.to(at::kDouble), at::tensor({3e38, 1.0}, at::kDouble)}};
  const Comparison found = compare_results(floats({3e38f, 1}), eager, wobble);
  EXPECT_TRUE(found.ok);
  EXPECT_EQ(found.undecided, 1);
  EXPECT_TRUE(compare_results(floats({-kInf, 1}), eager, wobble).ok);  // 1 / 0 of either sign
  EXPECT_FALSE(compare_results(floats({7, 1}), eager, wobble).ok);
  EXPECT_FALSE(compare_results(floats({kNan, 1}), eager, wobble).ok);
}

TEST(Bound, RowsMayChangePlacesWhereEagersDo) {
  const at::Tensor eager = at::rand({1, 40, 8});
  const auto with_rows = [&](int64_t a, int64_t b) {
    at::Tensor t = eager.clone();
    t[0][a] = eager[0][b];
    t[0][b] = eager[0][a];
    return t;
  };
  const at::Tensor other = with_rows(3, 4).to(at::kDouble);
  const Wobble wobble{(other - eager).abs() / 8, {eager.to(at::kDouble), other}};
  EXPECT_TRUE(compare_results(with_rows(20, 21), eager, wobble).ok);
  at::Tensor wrong = with_rows(20, 21);
  wrong[0][20][5] += 0.01;  // no row of eager's
  EXPECT_FALSE(compare_results(wrong, eager, wobble).ok);
  EXPECT_FALSE(compare_results(eager.flip({1}), eager, wobble).ok);  // more than eager's
  const Wobble calm{at::full_like(eager, 1e-7, at::kDouble), {eager.to(at::kDouble)}};
  EXPECT_FALSE(compare_results(with_rows(20, 21), eager, calm).ok);
}

}  // namespace
}  // namespace lazyrt
