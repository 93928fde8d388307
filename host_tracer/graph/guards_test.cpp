#include "host_tracer/graph/guards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "host_tracer/graph/rewriter.h"
#include "host_tracer/passes/test_graph.h"

namespace lazyrt {
namespace {

using fb::BinaryFn;
using fb::UnaryFn;
using ::testing::HasSubstr;

/// x0 f32[2]; state "h" f32[2] that becomes h + x0; guard: sum of x0 is truthy; output relu(x0).
TestGraph guarded() {
  TestGraph t;
  const ValueId x = t.input({2});
  const float first[2] = {3, 4};
  const Value first_value = t.g.value(t.g.add_constant("", DType::kFloat32, {2}, first));
  const ValueId h = t.g.add_state("h", DType::kFloat32, {2}, first_value.constant);
  fb::ReduceT sum;
  sum.fn = fb::ReduceFn::Sum;
  sum.axes = {0};
  const ValueId total = t.node(sum, {x});
  t.g.guards().push_back({total, true, "bool(x.sum())", {"", "model.py", 12, ""}});
  t.g.states()[0].next = t.binary(BinaryFn::Add, h, x);
  t.output(t.unary(UnaryFn::Relu, x));
  return t;
}

HostTensor tensor(const std::vector<double>& elements, DType dtype = DType::kFloat32) {
  HostTensor t = HostTensor::make(dtype, {static_cast<int64_t>(elements.size())});
  for (size_t i = 0; i < elements.size(); ++i)
    write_element(dtype, t.data.get(), static_cast<int64_t>(i), elements[i]);
  return t;
}

TEST(GraphRoots, ShowInTheTextAndSurviveDeadCodeElimination) {
  TestGraph t = guarded();
  EXPECT_EQ(t.g.remove_dead(), 0u);
  EXPECT_EQ(text_of(t.g),
            "%0: f32[2] = input \"x0\"\n"
            "%1: f32[2] = state \"h\"\n"
            "%2: f32[] = reduce(%0) {fn=Sum, axes=[0]}\n"
            "%3: f32[2] = binary(%1, %0) {fn=Add}\n"
            "%4: f32[2] = unary(%0) {fn=Relu}\n"
            "guard %2 is true \"bool(x.sum())\"\n"
            "next %1 = %3\n"
            "return %4 \"y0\"\n");
  EXPECT_THAT(graph_text(t.g), HasSubstr("\"bool(x.sum())\"  # model.py:12\n"));
  EXPECT_TRUE(verify_graph(t.g).ok());
}

TEST(GraphRoots, AreRewritten) {
  TestGraph t = guarded();
  const ValueId old = t.g.guards()[0].value;
  auto changed = rewrite(t.g, [](Rewriter& r, const Node& node) -> Outcome<bool> {
    if (node.attrs.kind() != fb::OpAttrs::Binary) return false;
    return r.replace_node(node, node.attrs, {node.inputs[1], node.inputs[0]});
  });
  ASSERT_TRUE(changed.ok());
  EXPECT_EQ(t.g.producer(t.g.states()[0].next)->inputs[0], t.g.inputs()[0]);
  t.g.replace_all_uses(t.g.states()[0].next, t.g.inputs()[0]);
  EXPECT_EQ(t.g.states()[0].next, t.g.inputs()[0]);
  t.g.replace_all_uses(old, t.g.add_scalar(DType::kFloat32, 1));
  EXPECT_NE(t.g.guards()[0].value, old);
  EXPECT_EQ(t.g.remove_dead(), 2u);
}

TEST(GraphRoots, NextStatesAreEvaluatedFromTheFirstContent) {
  const TestGraph t = guarded();
  std::vector<HostTensor> next;
  auto y = evaluate(t.g, {tensor({1, -1})}, &next);
  ASSERT_TRUE(y.ok()) << y.failure().text;
  ASSERT_EQ(next.size(), 1u);
  EXPECT_EQ(read_element(DType::kFloat32, next[0].data.get(), 0), 4);
  EXPECT_EQ(read_element(DType::kFloat32, next[0].data.get(), 1), 3);
}

struct Wrong {
  const char* message;
  void (*apply)(Graph&);
};

TEST(GraphRoots, TheVerifierChecksGuardsAndStates) {
  const Wrong wrongs[] = {
      {"is of a value that is not defined", [](Graph& g) { g.guards()[0].value = 99; }},
      {"is of f32[2]", [](Graph& g) { g.guards()[0].value = g.inputs()[0]; }},
      {"another kind of number than f32", [](Graph& g) { g.guards()[0].seen = int64_t{1}; }},
      {"becomes a value that is not defined", [](Graph& g) { g.states()[0].next = kNoValue; }},
      {"is f32[2], but becomes f32[]", [](Graph& g) { g.states()[0].next = g.guards()[0].value; }},
      {"no state value", [](Graph& g) { g.states()[0].value = g.inputs()[0]; }},
      {"listed twice", [](Graph& g) { g.states().push_back(g.states()[0]); }},
      {"bytes, its type wants 8",
       [](Graph& g) { g.value(g.states()[0].value).constant.bytes = 4; }},
  };
  for (const Wrong& wrong : wrongs) {
    TestGraph t = guarded();
    wrong.apply(t.g);
    const auto valid = verify_graph(t.g);
    ASSERT_FALSE(valid.ok()) << wrong.message;
    EXPECT_THAT(valid.failure().text, HasSubstr(wrong.message));
  }
}

TEST(Guards, SeenNumbersFitTheValuesDtype) {
  EXPECT_EQ(seen_of(DType::kFloat32, SeenNumber(int64_t{3})), SeenNumber(3.0));
  EXPECT_EQ(seen_of(DType::kInt64, SeenNumber(3.0)), SeenNumber(int64_t{3}));
  EXPECT_EQ(seen_of(DType::kFloat32, SeenNumber(true)), SeenNumber(true));
  EXPECT_FALSE(seen_of(DType::kInt64, SeenNumber(2.5)));
  EXPECT_FALSE(seen_of(DType::kInt64, SeenNumber(double{INFINITY})));
  EXPECT_FALSE(seen_of(DType::kInt64, SeenNumber(9223372036854775808.0)));
}

TEST(Guards, RealNumbersHoldWithinTheirTolerance) {
  const float x = 0.5f;
  EXPECT_TRUE(is_seen(DType::kFloat32, &x, 0.50004));
  EXPECT_FALSE(is_seen(DType::kFloat32, &x, 0.5002));
  const float nan = NAN, infinity = INFINITY;
  EXPECT_TRUE(is_seen(DType::kFloat32, &nan, double{NAN}));
  EXPECT_FALSE(is_seen(DType::kFloat32, &nan, 1.0));
  EXPECT_TRUE(is_seen(DType::kFloat32, &infinity, double{INFINITY}));
  EXPECT_EQ(guard_tolerance(DType::kFloat32, INFINITY), 0);
  EXPECT_TRUE(is_seen(DType::kFloat32, &nan, true));
}

TEST(Guards, HoldForAFirstRunOrNot) {
  const TestGraph t = guarded();
  auto yes = guards_hold(t.g, {tensor({1, 1})}), no = guards_hold(t.g, {tensor({1, -1})});
  ASSERT_TRUE(yes.ok()) << yes.failure().text;
  EXPECT_TRUE(*yes);
  EXPECT_FALSE(*no);
}

TEST(Guards, SettledOnesAreDroppedAndContradictionsFail) {
  TestGraph t = guarded();
  const GraphGuard real = t.g.guards()[0];
  t.g.guards().push_back(real);
  t.g.guards().push_back({t.scalar(3), 3.0, "x.item()", {}});
  auto dropped = settle_guards(t.g);
  ASSERT_TRUE(dropped.ok());
  EXPECT_EQ(*dropped, 2u);
  ASSERT_EQ(t.g.guards().size(), 1u);
  t.g.guards().push_back({t.scalar(3), 4.0, "x.item()", {"", "model.py", 7, ""}});
  dropped = settle_guards(t.g);
  ASSERT_FALSE(dropped.ok());
  EXPECT_EQ(dropped.failure().text,
            "x.item() was 4 in the trace, but no input changes it and it has another value here "
            "(model.py:7)");
}

}  // namespace
}  // namespace lazyrt
