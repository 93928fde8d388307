#include "host_tracer/passes/passes.h"
#include "host_tracer/passes/test_graph.h"

namespace lazyrt {
namespace {

TEST(EliminateCommon, EqualNodesOnEqualConstants) {
  TestGraph t;
  const ValueId x = t.input({2});
  const ValueId a = t.unary(fb::UnaryFn::Exp, t.binary(fb::BinaryFn::Add, x, t.scalar(2)));
  const ValueId b = t.unary(fb::UnaryFn::Exp, t.binary(fb::BinaryFn::Add, x, t.scalar(2)));
  const ValueId c = t.unary(fb::UnaryFn::Exp, t.binary(fb::BinaryFn::Add, x, t.scalar(3)));
  t.output(t.binary(fb::BinaryFn::Mul, a, b));
  t.output(c);
  EXPECT_EQ(text_of(after(eliminate_common, t.g, 0)),
            "%0: f32[2] = input \"x0\"\n"
            "%1: f32[] = constant {2}\n"
            "%2: f32[] = constant {3}\n"
            "%3: f32[2] = binary(%0, %1) {fn=Add}\n"
            "%4: f32[2] = unary(%3) {fn=Exp}\n"
            "%5: f32[2] = binary(%0, %2) {fn=Add}\n"
            "%6: f32[2] = unary(%5) {fn=Exp}\n"
            "%7: f32[2] = binary(%4, %4) {fn=Mul}\n"
            "return %7 \"y0\"\n"
            "return %6 \"y1\"\n");
}

TEST(EliminateCommon, TypesOfConstantsMatter) {
  TestGraph t;
  const ValueId x = t.input({1});
  const ValueId a = add_elements(t.g, "", DType::kFloat32, {1}, {2});
  const ValueId b = add_elements(t.g, "", DType::kFloat32, {1, 1}, {2});
  t.output(t.binary(fb::BinaryFn::Add, x, a));
  t.output(t.binary(fb::BinaryFn::Add, x, b));
  EXPECT_EQ(after(eliminate_common, t.g, 0).nodes().size(), 2u);
}

TEST(EliminateCommon, EqualConstantsOfANodeWithSeveralOutputs) {
  TestGraph t;
  const ValueId x = t.input({4, 1, 2});
  const ValueId h = add_elements(t.g, "", DType::kFloat32, {1, 1, 3}, {0, 0, 0});
  const ValueId c = add_elements(t.g, "", DType::kFloat32, {1, 1, 3}, {0, 0, 0});
  fb::LstmT lstm;
  lstm.has_bias = false;
  const auto made =
      t.g.add_node(Attrs::of(lstm), {x, h, c, t.weight({12, 2}), t.weight({12, 3})}, Source());
  ASSERT_TRUE(made.ok()) << made.failure().text;
  for (const ValueId id : *made) t.output(id);
  const Graph g = after(eliminate_common, t.g, 0);
  ASSERT_EQ(g.nodes().size(), 1u);
  EXPECT_EQ(g.nodes()[0].inputs[1], g.nodes()[0].inputs[2]);
  EXPECT_EQ(g.outputs().size(), 3u);
}

TEST(EliminateDead, DropsNodesAndConstants) {
  TestGraph t;
  const ValueId x = t.input({2});
  t.input({5});  // stays: part of the interface
  t.unary(fb::UnaryFn::Exp, t.binary(fb::BinaryFn::Add, x, t.scalar(2)));
  t.output(t.unary(fb::UnaryFn::Neg, x));
  Graph g = t.g;
  auto dropped = eliminate_dead(g);
  ASSERT_TRUE(dropped.ok());
  EXPECT_EQ(*dropped, 2u);
  EXPECT_EQ(g.value_count(), 3u);
  EXPECT_EQ(graph_text(g),
            "%0: f32[2] = input \"x0\"\n"
            "%1: f32[5] = input \"x1\"\n"
            "%2: f32[2] = unary(%0) {fn=Neg}\n"
            "return %2 \"y0\"\n");
}

}  // namespace
}  // namespace lazyrt
