// The passes over guards and states.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host_tracer/graph/guards.h"
#include "host_tracer/passes/passes.h"
#include "host_tracer/passes/pipeline.h"
#include "host_tracer/passes/test_graph.h"

namespace lazyrt {
namespace {

using fb::BinaryFn;
using fb::UnaryFn;
using ::testing::HasSubstr;

void guard(TestGraph& t, ValueId value, SeenNumber seen, const std::string& text) {
  t.g.guards().push_back({value, seen, text, {}});
}

TEST(ScheduleGuards, WhatGuardsNeedComesFirstInTheirOrder) {
  TestGraph t;
  const ValueId x = t.input({4});
  const ValueId big = t.unary(UnaryFn::Exp, x);
  const ValueId first = t.mean(t.unary(UnaryFn::Neg, x), {0}, false);
  const ValueId second = t.mean(big, {0}, false);
  t.output(t.unary(UnaryFn::Tanh, big));
  guard(t, first, true, "a");
  guard(t, second, true, "b");
  const Graph before = t.g;
  auto moved = schedule_guards(t.g);
  ASSERT_TRUE(moved.ok());
  EXPECT_GT(*moved, 0u);
  ASSERT_TRUE(verify_graph(t.g).ok());
  EXPECT_EQ(text_of(t.g),
            "%0: f32[4] = input \"x0\"\n"
            "%1: f32[4] = unary(%0) {fn=Neg}\n"
            "%2: f32[] = reduce(%1) {fn=Mean, axes=[0]}\n"
            "%3: f32[4] = unary(%0) {fn=Exp}\n"
            "%4: f32[] = reduce(%3) {fn=Mean, axes=[0]}\n"
            "%5: f32[4] = unary(%3) {fn=Tanh}\n"
            "guard %2 is true \"a\"\n"
            "guard %4 is true \"b\"\n"
            "return %5 \"y0\"\n");
  expect_same(before, t.g);
  moved = schedule_guards(t.g);
  EXPECT_EQ(*moved, 0u);
}

TEST(ScheduleGuards, AContradictionFails) {
  TestGraph t;
  t.output(t.unary(UnaryFn::Neg, t.input({4})));
  guard(t, t.scalar(1), false, "bool(n)");
  auto moved = schedule_guards(t.g);
  ASSERT_FALSE(moved.ok());
  EXPECT_THAT(moved.failure().text, HasSubstr("bool(n) was false in the trace"));
}

TEST(ScheduleGuards, GuardsFollowTheirValuesThroughAllPasses) {
  TestGraph t;
  const ValueId x = t.input({1, 3, 8, 8});
  ValueId y = t.unary(UnaryFn::Relu, t.batch_norm(t.conv(x, 4, 3)));
  const ValueId inner = t.mean(y, {0, 1, 2, 3}, false);
  y = t.unary(UnaryFn::Relu, t.batch_norm(t.conv(y, 4, 3)));
  t.output(t.mean(y, {2, 3}, false));
  guard(t, inner, true, "bool(mean)");
  guard(t, t.reshape(inner, {1}), true, "again");
  guard(t, t.binary(BinaryFn::Mul, t.scalar(2), t.scalar(3)), 6.0, "constant");
  const Graph before = t.g;
  auto reports = run_pipeline(t.g, default_pipeline());
  ASSERT_TRUE(reports.ok()) << reports.failure().text;
  ASSERT_EQ(t.g.guards().size(), 2u) << graph_text(t.g);
  expect_same(before, t.g, 1e-4);
  // The guarded value itself is what it was: as an output it compares.
  Graph a = before, b = t.g;
  for (Graph* g : {&a, &b}) g->outputs().push_back({"g", g->guards()[0].value, std::nullopt});
  expect_same(a, b, 1e-4);
}

TEST(SeparateStates, ReturnedAndExchangedStatesAreCopied) {
  TestGraph t;
  const float data[2] = {1, 2};
  const ConstantData bytes = t.g.value(t.g.add_constant("", DType::kFloat32, {2}, data)).constant;
  const ValueId a = t.g.add_state("a", DType::kFloat32, {2}, bytes);
  const ValueId b = t.g.add_state("b", DType::kFloat32, {2}, bytes);
  const ValueId kept = t.g.add_state("kept", DType::kFloat32, {2}, bytes);
  t.g.states()[0].next = b;
  t.g.states()[1].next = a;
  t.output(a);
  t.output(a);
  auto copies = separate_states(t.g);
  ASSERT_TRUE(copies.ok());
  EXPECT_EQ(*copies, 2u);
  ASSERT_TRUE(verify_graph(t.g).ok());
  EXPECT_EQ(t.g.value(t.g.outputs()[0].value).kind, ValueKind::kNode);
  EXPECT_EQ(t.g.outputs()[0].value, t.g.outputs()[1].value);
  EXPECT_EQ(t.g.states()[1].next, t.g.outputs()[0].value);
  EXPECT_EQ(t.g.states()[2].next, kept) << "a state that stays needs no copy";
}

TEST(Passes, DoNotFoldStates) {
  TestGraph t;
  const float data[2] = {1, 2};
  const ConstantData bytes = t.g.value(t.g.add_constant("", DType::kFloat32, {2}, data)).constant;
  const ValueId h = t.g.add_state("h", DType::kFloat32, {2}, bytes);
  t.g.states()[0].next = t.binary(BinaryFn::Add, h, t.scalar(1));
  t.output(t.unary(UnaryFn::Neg, h));
  ASSERT_TRUE(run_pipeline(t.g, default_pipeline()).ok());
  EXPECT_EQ(t.g.nodes().size(), 2u) << graph_text(t.g);
  EXPECT_EQ(t.g.producer(t.g.states()[0].next)->inputs[0], t.g.states()[0].value);
}

}  // namespace
}  // namespace lazyrt
