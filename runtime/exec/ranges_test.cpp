// Sessions of a method whose variants take ranges of its symbols.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/dynamic_bundle.h"
#include "tests/support/dynamic_inputs.h"
#include "tests/support/loaded_bundle.h"

namespace lazyrt {
namespace {

using test::DynamicInputs;
using test::floats;
using test::Loaded;
using test::make;
using testing::ElementsAre;
using testing::HasSubstr;

void expect_run(Session* session, int64_t rows, int64_t n, size_t variant) {
  DynamicInputs inputs(rows, n, static_cast<uint32_t>(n));
  inputs.set(session);
  const Status status = session->run();
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(*session->variant(), variant);
  EXPECT_EQ(floats(*session, 0), inputs.total(variant == 0 ? 3 : 4)) << rows << ", " << n;
  EXPECT_EQ(session->output(0)->shape, Shape({3 * n}));
}

std::string refusal(Session* session, int64_t rows, int64_t n) {
  DynamicInputs inputs(rows, n);
  Status status = session->set_input(0, inputs.x_view());
  if (status.ok()) status = session->set_input(1, inputs.ids_view());
  if (status.ok()) status = session->set_input(2, inputs.mask_view());
  if (status.ok()) status = session->run();
  EXPECT_EQ(status.error(), Error::kInvalidArgument);
  return status.message();
}

TEST(Ranges, TheMethodTakesWhatItsVariantsTakeTogether) {
  const Loaded bundle(test::ranges_bundle());
  const Method method = bundle.method();
  EXPECT_EQ(method.variant_count(), 2u);
  EXPECT_EQ(method.symbol(1).min, 2);
  EXPECT_EQ(method.symbol(1).max, 512);
  EXPECT_EQ(method.symbol(1).multiple, 2);
  EXPECT_EQ(method.variant_symbol(1, 0).max, 100);
  EXPECT_EQ(method.variant_symbol(1, 1).min, 102);
  EXPECT_EQ(method.symbol(0).max, 8);
  EXPECT_EQ(method.variant_symbol(0, 1).max, 4);
  EXPECT_EQ(method.input(1, 1).shape, Shape({200}));
  EXPECT_EQ(method.output_symbol(1, 0, 1), 1);
}

TEST(Ranges, ARunTakesTheVariantOfItsSizes) {
  const Loaded bundle(test::ranges_bundle());
  Session session = make(bundle.method());
  expect_run(&session, 4, 6, 0);
  expect_run(&session, 4, 200, 1);
  expect_run(&session, 4, 102, 1);
  expect_run(&session, 4, 100, 0);
  expect_run(&session, 1, 512, 1);
  expect_run(&session, 8, 2, 0);
  EXPECT_EQ(*session.state(0)->as<float>(), 6) << "states go on";
}

TEST(Ranges, WhatNoVariantTakesIsRefused) {
  test::BundleParts parts = test::ranges_bundle();
  parts.bundle.methods[0]->variants[0]->symbols[1]->min = 110;
  const Loaded bundle(parts);
  Session session = make(bundle.method());
  EXPECT_THAT(refusal(&session, 4, 514),
              HasSubstr("'n' is 514, allowed are 2 to 512 in multiples"));
  EXPECT_THAT(refusal(&session, 4, 7),
              HasSubstr("'n' is 7, allowed are 2 to 512 in multiples of 2"));
  EXPECT_THAT(refusal(&session, 4, 104), HasSubstr("'n' is 104, which no variant takes"));
  EXPECT_THAT(refusal(&session, 8, 200), HasSubstr("no variant takes rows=8, n=200"));
  expect_run(&session, 4, 6, 0);
}

TEST(Ranges, NodesAndStatsAreThoseOfTheVariantThatIsBound) {
  const Loaded bundle(test::ranges_bundle());
  Session session = make(bundle.method());
  const size_t nodes = session.node_count();
  EXPECT_EQ(session.node(0)->variant, 0u);
  expect_run(&session, 4, 400, 1);
  EXPECT_EQ(session.node_count(), nodes);
  EXPECT_EQ(session.node(0)->variant, 1u);
  EXPECT_EQ(session.guard_refusals(0, 0), 0u);
}

TEST(Ranges, TwoVariantsOfOneRangeAreToldApartByGuards) {
  const Loaded bundle(test::guarded_ranges_bundle());
  Session session = make(bundle.method());
  const auto run = [&](std::vector<float> x, size_t variant) {
    const TensorView view = {x.data(), DType::kFloat32, {static_cast<int64_t>(x.size()), 1}};
    EXPECT_TRUE(session.set_input(0, view).ok());
    const Status status = session.run();
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(*session.variant(), variant);
    return floats(session, 0);
  };
  EXPECT_THAT(run({1, -2}, 0), ElementsAre(2, -4));
  EXPECT_THAT(run({1, -2, 3, 4, 5}, 1), ElementsAre(1, 0, 3, 4, 5));
  EXPECT_THAT(run({0, -2, 3, 4, 5}, 2), ElementsAre(0, -6, 9, 12, 15));
  EXPECT_EQ(session.guard_refusals(0, 1), 1u);
  EXPECT_EQ(session.stats().guard_refusals, 1u);
  EXPECT_THAT(run({0, -2, 3}, 0), ElementsAre(0, -4, 6));
}

TEST(Ranges, TheFileMayHoldAnySizesOfAVariant) {
  for (const int64_t n : {102, 300, 512}) {
    const Loaded bundle(test::ranges_bundle(n));
    Session session = make(bundle.method());
    for (const int64_t size : {512, 6, 102, 300, 100}) expect_run(&session, 3, size, size > 100);
  }
}

}  // namespace
}  // namespace lazyrt
