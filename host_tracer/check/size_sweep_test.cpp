#include "host_tracer/check/size_sweep.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "host_tracer/record/capture.h"

namespace lazyrt {
namespace {

ResultValue result(const at::Tensor& tensor) { return {to_sample(tensor), std::nullopt}; }

EagerRun run(std::vector<ResultValue> outputs) { return {std::move(outputs), "", ""}; }

/// Of one result. `moved`: what eager gives where its inputs differ in the last places.
bool far(const ResultValue& ours, const ResultValue& eager, const ResultValue& moved) {
  return far_apart({ours}, run({eager}), [&] { return run({moved}); });
}

TEST(FarApart, AnotherNumberIs) {
  const at::Tensor x = at::ones({3});
  EXPECT_TRUE(far(result(x), result(x * 1.001), result(x * 1.001)));
  EXPECT_FALSE(far(result(x), result(x * 1.00001), result(x * 1.00001)));
}

TEST(FarApart, WhatLastPlacesMoveIsNot) {
  const at::Tensor x = at::ones({3});
  EXPECT_FALSE(far(result(x), result(x * 1.001), result(x * 1.002)));
  EXPECT_TRUE(far(result(x), result(x * 2), result(x * 2.0001)));
}

TEST(FarApart, ADecisionThatLastPlacesMakeIsNot) {
  const auto zero = result(at::tensor(int64_t{0})), one = result(at::tensor(int64_t{1}));
  EXPECT_FALSE(far(one, zero, one));
  EXPECT_TRUE(far(one, zero, zero));
}

TEST(FarApart, AnotherKindIs) {
  const auto x = result(at::ones({3}));
  const ResultValue number = {{}, int64_t{1}};
  EXPECT_TRUE(far(x, result(at::ones({4})), x));
  EXPECT_TRUE(far(x, result(at::ones({3}, at::kDouble)), x));
  EXPECT_TRUE(far(number, ResultValue{{}, int64_t{2}}, number));
  EXPECT_FALSE(far(number, number, number));
  EXPECT_FALSE(far(result(at::tensor(int64_t{1})), number, number));
  EXPECT_TRUE(far_apart({x, x}, run({x}), [&] { return run({x}); }));
}

TEST(FarApart, AnotherNestingIs) {
  const auto x = result(at::ones({3}));
  EagerRun eager = run({x});
  eager.other_structure = "a list of 2, not of 3";
  EXPECT_TRUE(far_apart({x}, eager, [&] { return eager; }));
}

TEST(FarApart, AProgramThatRaisesForOtherLastPlacesIsNoSuspicion) {
  const auto x = result(at::ones({3})), y = result(at::ones({3}) * 2);
  EXPECT_FALSE(far_apart({x}, run({y}), [] { return EagerRun{{}, "no", ""}; }));
}

}  // namespace
}  // namespace lazyrt
