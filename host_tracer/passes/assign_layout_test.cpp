#include <algorithm>
#include <cstdio>
#include <random>

#include "host_tracer/passes/min_cut.h"
#include "host_tracer/passes/passes.h"
#include "host_tracer/passes/test_graph.h"

namespace lazyrt {
namespace {

using fb::BinaryFn;
using fb::UnaryFn;

Outcome<size_t> layout_and_clean(Graph& g) {
  LAZYRT_TRY(assign_layout(g));
  LAZYRT_TRY(simplify(g));
  return fold_constants(g);
}

/// The permutes that are left after layout, clean-up included; checks that results are the same.
size_t permutes_left(const Graph& graph) {
  return count_nodes(after(layout_and_clean, graph), fb::OpAttrs::Permute);
}

TEST(MinCut, FindsTheCheapestSide) {
  MinCut cut;
  const int a = cut.add_node(), b = cut.add_node();
  cut.add_edge(MinCut::kSource, a, 5);
  cut.add_edge(a, b, 2);
  cut.add_edge(b, MinCut::kSink, 4);
  cut.add_edge(MinCut::kSource, b, 1);
  EXPECT_EQ(cut.solve(), 3);
  EXPECT_TRUE(cut.on_source_side(a));
  EXPECT_FALSE(cut.on_source_side(b));
}

TEST(MinCut, AGraphAsLongAsAModelTakesNoStackOfCalls) {
  MinCut cut;
  constexpr int kCount = 1'000'000;
  int last = MinCut::kSource;
  for (int i = 0; i < kCount; ++i) {
    const int next = cut.add_node();
    cut.add_edge(last, next, i == kCount / 2 ? 3 : 5);
    last = next;
  }
  cut.add_edge(last, MinCut::kSink, 5);
  EXPECT_EQ(cut.solve(), 3);
  EXPECT_TRUE(cut.on_source_side(kCount / 2));
  EXPECT_FALSE(cut.on_source_side(last));
}

TEST(MinCut, AgreesWithEverySplit) {
  const uint32_t seed = std::random_device()();
  std::printf("seed %u\n", seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    constexpr int kNodes = 7;
    MinCut cut;
    for (int i = 2; i < kNodes; ++i) cut.add_node();
    int64_t capacity[kNodes][kNodes] = {};
    for (int i = 0; i < 16; ++i) {
      const int from = static_cast<int>(random() % kNodes),
                to = static_cast<int>(random() % kNodes);
      const auto c = static_cast<int64_t>(random() % 10);
      if (from == to) continue;
      capacity[from][to] += c;
      cut.add_edge(from, to, c);
    }
    int64_t best = MinCut::kInfinite;
    for (int side = 0; side < 1 << (kNodes - 2); ++side) {
      const int all = 1 << MinCut::kSource | side << 2;  // the source's side; the sink is node 1
      int64_t cost = 0;
      for (int from = 0; from < kNodes; ++from) {
        for (int to = 0; to < kNodes; ++to) {
          if ((all >> from & 1) == 1 && (all >> to & 1) == 0) cost += capacity[from][to];
        }
      }
      best = std::min(best, cost);
    }
    EXPECT_EQ(cut.solve(), best);
  }
}

TEST(AssignLayout, ChainOfConvsHasOnePermute) {
  TestGraph t;
  ValueId x = t.unary(UnaryFn::Relu, t.conv(t.input({1, 3, 6, 6}), 9, 3, true));
  x = t.unary(UnaryFn::Hardswish, t.batch_norm(t.conv(x, 9, 3)));
  t.output(t.mean(x, {2, 3}, false));
  EXPECT_EQ(
      text_of(after(layout_and_clean, t.g)),
      "%0: f32[1,3,6,6] = input \"x0\"\n"
      "%1: f32[9,3,3,3] = constant \"conv.weight\"\n"
      "%2: f32[9] = constant \"conv.bias\"\n"
      "%3: f32[9,3,3,9] = constant \"conv.weight\"\n"
      "%4: f32[9] = constant \"bn.weight\"\n"
      "%5: f32[9] = constant \"bn.bias\"\n"
      "%6: f32[9] = constant \"bn.mean\"\n"
      "%7: f32[9] = constant \"bn.var\"\n"
      "%8: f32[1,6,6,3] = permute(%0) {perm=[0,2,3,1]}\n"
      "%9: f32[1,6,6,9] = conv2d(%8, %1, %2) {pad_top=1, pad_left=1, pad_bottom=1, pad_right=1}\n"
      "%10: f32[1,6,6,9] = unary(%9) {fn=Relu}\n"
      "%11: f32[1,6,6,9] = conv2d(%10, %3, -) {pad_top=1, pad_left=1, pad_bottom=1, pad_right=1}\n"
      "%12: f32[1,6,6,9] = batch_norm(%11, %4, %5, %6, %7) {channel_axis=3}\n"
      "%13: f32[1,6,6,9] = unary(%12) {fn=Hardswish}\n"
      "%14: f32[1,9] = reduce(%13) {fn=Mean, axes=[1,2]}\n"
      "return %14 \"y0\"\n");
}

TEST(AssignLayout, ResidualAndSqueezeExcite) {
  TestGraph t;
  ValueId x = t.conv(t.input({2, 3, 6, 6}), 8, 3);
  x = t.binary(BinaryFn::Add, x, t.conv(x, 8, 3));
  ValueId gate = t.mean(x, {2, 3}, true);
  gate = t.unary(UnaryFn::Sigmoid,
                 t.conv(t.unary(UnaryFn::Silu, t.conv(gate, 4, 1, true)), 8, 1, true));
  x = t.binary(BinaryFn::Mul, x, gate);
  x = t.binary(BinaryFn::Add, t.conv(x, 8, 1), x);
  t.output(t.mean(x, {2, 3}, false));
  const Graph g = after(layout_and_clean, t.g);
  EXPECT_EQ(count_nodes(g, fb::OpAttrs::Permute), 1u);  // of the input
  EXPECT_EQ(count_nodes(g, fb::OpAttrs::Reshape), 0u);
}

TEST(AssignLayout, UNet) {
  TestGraph t;
  const ValueId x = t.input({1, 3, 8, 8});
  const ValueId wide = t.unary(UnaryFn::Relu, t.conv(x, 4, 3));
  fb::MaxPool2dT pool;
  pool.kernel_h = pool.kernel_w = pool.stride_h = pool.stride_w = 2;
  const ValueId small = t.conv(t.to_first(t.node(pool, {t.to_last(wide)})), 6, 3);
  fb::ConvTranspose2dT up;
  up.stride_h = up.stride_w = 2;
  const ValueId grown =
      t.to_first(t.node(up, {t.to_last(small), t.weight({4, 2, 2, 6}), t.weight({4})}));
  fb::ConcatT concat;
  concat.axis = 1;
  t.output(t.conv(t.node(concat, {wide, grown}), 2, 1));
  const Graph g = after(layout_and_clean, t.g);
  EXPECT_EQ(count_nodes(g, fb::OpAttrs::Permute), 2u);  // input and output
}

TEST(AssignLayout, PadSliceSoftmaxCastGroupNormExpand) {
  TestGraph t;
  ValueId x = t.conv(t.input({1, 3, 6, 6}), 4, 3);
  fb::PadT pad;
  pad.before = {0, 0, 1, 2};
  pad.after = {0, 0, 0, 1};
  x = t.node(pad, {x});
  fb::SliceT slice;
  slice.starts = {0, 1, 0, 2};
  slice.sizes = {1, 2, 7, 3};
  slice.steps = {1, 1, 1, 2};
  x = t.node(slice, {x});
  fb::SoftmaxT softmax;
  softmax.axis = 1;
  x = t.node(softmax, {x});
  fb::GroupNormT norm;
  norm.groups = 2;
  x = t.node(norm, {x, t.weight({2}), t.weight({2})});
  fb::ExpandT expand;
  expand.shape = {3, 2, 7, 3};
  x = t.node(expand, {x});
  x = t.binary(BinaryFn::Add, x, t.weight({2, 1, 1}));
  x = t.binary(BinaryFn::Add, x, t.weight({7, 3}));
  x = t.binary(BinaryFn::Mul, t.scalar(3), x);
  fb::FlipT flip;
  flip.axes = {1, 3};
  x = t.node(flip, {x});
  t.output(t.mean(t.conv(x, 3, 3), {1}, false));
  EXPECT_EQ(permutes_left(t.g), 1u);
}

TEST(AssignLayout, FlattenGoesIntoLinearWeights) {
  TestGraph t;
  ValueId x = t.unary(UnaryFn::Relu, t.conv(t.input({2, 3, 4, 4}), 5, 3));
  x = t.reshape(x, {2, 5 * 4 * 4});
  t.output(t.node(fb::LinearT(), {x, t.weight({7, 80}), t.weight({7})}));
  EXPECT_EQ(permutes_left(t.g), 1u);
}

TEST(AssignLayout, FlattenThatIsAlsoReturnedKeepsItsOrder) {
  TestGraph t;
  ValueId x = t.conv(t.input({2, 3, 4, 4}), 5, 3);
  x = t.reshape(x, {2, 80});
  t.output(x);
  t.output(t.node(fb::LinearT(), {x, t.weight({7, 80}), t.weight({7})}));
  EXPECT_EQ(permutes_left(t.g), 2u);
}

TEST(AssignLayout, PatchesOfVit) {
  TestGraph t;
  ValueId x = t.conv(t.input({1, 3, 4, 4}), 6, 1, true);
  x = t.permute(t.reshape(x, {1, 6, 16}), {0, 2, 1});
  t.output(t.node(fb::LayerNormT(), {x, t.weight({6}), t.weight({6})}));
  EXPECT_EQ(permutes_left(t.g), 1u);
}

TEST(AssignLayout, SequenceConvThenTransposeForRnn) {  // [N,C,T] through 4-D convs, then [N,T,C]
  TestGraph t;
  const ValueId x = t.input({1, 4, 10});
  ValueId y = t.conv(t.reshape(x, {1, 4, 1, 10}), 6, 1);
  y = t.unary(UnaryFn::Gelu, t.reshape(y, {1, 6, 10}));
  y = t.reshape(t.conv(t.reshape(y, {1, 6, 1, 10}), 6, 1), {1, 6, 10});
  t.output(t.node(fb::LinearT(), {t.permute(y, {0, 2, 1}), t.weight({3, 6}), kNoValue}));
  EXPECT_EQ(permutes_left(t.g), 1u);
}

TEST(AssignLayout, TransposeBeforeSequenceConv) {  // [N,T,C] -> transpose -> conv: none is needed
  TestGraph t;
  const ValueId x = t.unary(UnaryFn::Tanh, t.input({1, 10, 4}));
  ValueId y = t.reshape(t.permute(x, {0, 2, 1}), {1, 4, 1, 10});
  t.output(t.mean(t.conv(y, 6, 1), {2, 3}, false));
  EXPECT_EQ(permutes_left(t.g), 0u);
}

TEST(AssignLayout, ManyTokenBlocksWithConvs) {  // more rank 3 permutes than are tried out
  TestGraph t;
  ValueId x = t.unary(UnaryFn::Tanh, t.input({1, 12, 4}));
  for (int i = 0; i < 15; ++i) {
    ValueId y = t.reshape(t.permute(x, {0, 2, 1}), {1, 4, 3, 4});
    y = t.reshape(t.conv(y, 4, 3), {1, 4, 12});
    x = t.node(fb::LayerNormT(), {t.permute(y, {0, 2, 1}), kNoValue, kNoValue});
  }
  t.output(x);
  EXPECT_EQ(permutes_left(t.g), 0u);
}

TEST(AssignLayout, AttentionStaysAsItIs) {
  TestGraph t;
  const ValueId q = t.permute(t.input({1, 5, 2, 4}), {0, 2, 1, 3});
  const ValueId k = t.permute(t.input({1, 5, 2, 4}), {0, 2, 3, 1});
  const ValueId s = t.binary(BinaryFn::Mul, t.node(fb::MatMulT(), {q, k}), t.scalar(0.5));
  t.output(s);
  EXPECT_EQ(permutes_left(t.g), 2u);
}

TEST(AssignLayout, CheapestPlaceToConvert) {  // pooled to a quarter before plain code needs it
  TestGraph t;
  ValueId x = t.conv(t.input({1, 4, 8, 8}), 4, 3);
  fb::SliceT slice;
  slice.starts = {0, 0, 0, 0};
  slice.sizes = {1, 4, 4, 4};
  slice.steps = {1, 1, 2, 2};
  x = t.node(slice, {t.unary(UnaryFn::Exp, x)});
  t.output(t.reshape(x, {64}));
  const Graph g = after(layout_and_clean, t.g);
  for (const Node& node : g.nodes()) {
    if (node.attrs.kind() != fb::OpAttrs::Permute || node.inputs[0] == g.inputs()[0]) continue;
    EXPECT_EQ(g.value(node.inputs[0]).shape.numel(), 64);
  }
  EXPECT_EQ(count_nodes(g, fb::OpAttrs::Permute), 2u);
}

TEST(AssignLayout, OperandOfLowerRankThatIsComputed) {
  TestGraph t;
  const ValueId x = t.conv(t.input({1, 4, 6, 5}), 4, 3);
  const ValueId row = t.unary(UnaryFn::Exp, t.input({6, 5}));
  const ValueId column = t.unary(UnaryFn::Exp, t.input({4, 1, 1}));
  const ValueId y = t.binary(BinaryFn::Add, t.binary(BinaryFn::Mul, column, x), row);
  t.output(t.mean(t.conv(y, 3, 1), {2, 3}, false));
  after(layout_and_clean, t.g);
}

}  // namespace
}  // namespace lazyrt
