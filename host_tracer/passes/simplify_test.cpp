#include "host_tracer/passes/passes.h"
#include "host_tracer/passes/test_graph.h"

namespace lazyrt {
namespace {

using fb::BinaryFn;
using fb::UnaryFn;

TEST(Simplify, RemovesWhatComputesNothing) {
  TestGraph t;
  ValueId x = t.input({2, 3});
  x = t.reshape(x, {2, 3});
  x = t.permute(x, {0, 1});
  fb::ExpandT expand;
  expand.shape = {2, 3};
  x = t.node(expand, {x});
  fb::CastT cast;
  cast.to = fb::DType::Float32;
  x = t.node(cast, {x});
  fb::SliceT slice;
  slice.starts = {0, 0};
  slice.sizes = {2, 3};
  slice.steps = {1, 1};
  x = t.node(slice, {x});
  fb::PadT pad;
  pad.before = {0, 0};
  pad.after = {0, 0};
  x = t.node(pad, {x});
  x = t.node(fb::ConcatT(), {x});
  x = t.binary(BinaryFn::Mul, t.scalar(1), x);
  x = t.binary(BinaryFn::Sub, x, t.scalar(0));
  x = t.binary(BinaryFn::Add, x, t.scalar(-0.0));
  x = t.binary(BinaryFn::Div, x, t.scalar(1));
  t.output(t.unary(UnaryFn::Tanh, x));
  EXPECT_EQ(text_of(after(simplify, t.g, 0)),
            "%0: f32[2,3] = input \"x0\"\n"
            "%1: f32[2,3] = unary(%0) {fn=Tanh}\n"
            "return %1 \"y0\"\n");
}

TEST(Simplify, KeepsAddOfPositiveZero) {  // -0 + 0 is 0
  TestGraph t;
  t.output(t.binary(BinaryFn::Add, t.input({2}), t.scalar(0)));
  EXPECT_EQ(after(simplify, t.g, 0).nodes().size(), 1u);
}

TEST(Simplify, KeepsNeutralOperandThatBroadcasts) {
  TestGraph t;
  t.output(t.binary(BinaryFn::Mul, t.input({3}), t.positive({2, 1})));
  t.output(t.binary(BinaryFn::Mul, t.input({3}),
                    add_elements(t.g, "", DType::kFloat32, {2, 1}, {1, 1})));
  EXPECT_EQ(after(simplify, t.g, 0).nodes().size(), 2u);
}

TEST(Simplify, MergesReshapesAndPermutes) {
  TestGraph t;
  const ValueId x = t.input({2, 3, 4});
  t.output(t.reshape(t.reshape(x, {6, 4}), {3, 8}));
  t.output(t.permute(t.permute(x, {2, 0, 1}), {1, 2, 0}));
  t.output(t.permute(t.permute(x, {2, 0, 1}), {1, 0, 2}));
  EXPECT_EQ(text_of(after(simplify, t.g, 0)),
            "%0: f32[2,3,4] = input \"x0\"\n"
            "%1: f32[3,8] = reshape(%0) {shape=[3,8]}\n"
            "%2: f32[2,4,3] = permute(%0) {perm=[0,2,1]}\n"
            "return %1 \"y0\"\n"
            "return %0 \"y1\"\n"
            "return %2 \"y2\"\n");
}

TEST(Simplify, PermuteOfUnitsBecomesReshape) {
  TestGraph t;
  t.output(t.permute(t.input({2, 5, 1, 1}), {2, 0, 1, 3}));
  t.output(t.to_last(t.input({2, 5, 1, 1})));  // stays: a hint for assign_layout
  EXPECT_EQ(text_of(after(simplify, t.g, 0)),
            "%0: f32[2,5,1,1] = input \"x0\"\n"
            "%1: f32[2,5,1,1] = input \"x1\"\n"
            "%2: f32[1,2,5,1] = reshape(%0) {shape=[1,2,5,1]}\n"
            "%3: f32[2,1,1,5] = permute(%1) {perm=[0,2,3,1]}\n"
            "return %2 \"y0\"\n"
            "return %3 \"y1\"\n");
}

TEST(Simplify, DropsExpandsThatBroadcastingDoes) {
  TestGraph t;
  const ValueId x = t.input({4, 3});
  fb::ExpandT expand;
  expand.shape = {4, 3};
  const ValueId row = t.node(expand, {t.input({3})});
  const ValueId one = t.node(expand, {t.scalar(2)});
  t.output(t.binary(BinaryFn::Add, x, row));
  t.output(t.binary(BinaryFn::Mul, row, one));  // one of the two must stay
  EXPECT_EQ(text_of(after(simplify, t.g, 0)),
            "%0: f32[4,3] = input \"x0\"\n"
            "%1: f32[3] = input \"x1\"\n"
            "%2: f32[] = constant {2}\n"
            "%3: f32[4,3] = expand(%2) {shape=[4,3]}\n"
            "%4: f32[4,3] = binary(%0, %1) {fn=Add}\n"
            "%5: f32[4,3] = binary(%1, %3) {fn=Mul}\n"
            "return %4 \"y0\"\n"
            "return %5 \"y1\"\n");
}

TEST(Simplify, WhereWithKnownCondition) {
  TestGraph t;
  const ValueId yes = add_elements(t.g, "", DType::kBool, {2, 1}, {1, 1});
  t.output(t.node(fb::WhereT(), {yes, t.input({2, 3}), t.scalar(0)}));
  EXPECT_EQ(text_of(after(simplify, t.g, 0)), "%0: f32[2,3] = input \"x0\"\nreturn %0 \"y0\"\n");
}

TEST(Simplify, ReduceOfUnitsBecomesReshape) {
  TestGraph t;
  t.output(t.mean(t.input({2, 1, 3}), {1}, false));
  EXPECT_EQ(count_nodes(after(simplify, t.g, 0), fb::OpAttrs::Reshape), 1u);
}

TEST(Simplify, MatMulBroadcastsItself) {
  TestGraph t;
  fb::ExpandT expand;
  expand.shape = {5, 3, 4};
  const ValueId b = t.node(expand, {t.input({1, 3, 4})});
  t.output(t.node(fb::MatMulT(), {t.input({5, 2, 3}), b}));
  EXPECT_EQ(count_nodes(after(simplify, t.g, 0), fb::OpAttrs::Expand), 0u);
}

TEST(Simplify, EmptyTensors) {
  TestGraph t;
  const ValueId x = t.input({0, 3});
  t.output(t.node(fb::ConcatT(), {x, t.input({2, 3})}));
  t.output(t.permute(x, {1, 0}));
  const Graph g = after(simplify, t.g, 0);
  EXPECT_EQ(count_nodes(g, fb::OpAttrs::Permute), 0u);
}

}  // namespace
}  // namespace lazyrt
