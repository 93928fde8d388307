// find_linear, find_rms_norm, find_activation, fold_transpose, fold_batch_norm, expand_batch_norm,
// fuse_clamp.

#include "host_tracer/passes/passes.h"
#include "host_tracer/passes/test_graph.h"

namespace lazyrt {
namespace {

using fb::BinaryFn;
using fb::UnaryFn;

TEST(FindLinear, MatMulWithBias) {
  TestGraph t;
  const ValueId y = t.node(fb::MatMulT(), {t.input({2, 5, 3}), t.weight({3, 9})});
  t.output(t.binary(BinaryFn::Add, t.weight({1, 1, 9}, "b"), y));
  EXPECT_EQ(text_of(after(find_linear, t.g)),
            "%0: f32[2,5,3] = input \"x0\"\n"
            "%1: f32[3,9] = constant \"w\"\n"
            "%2: f32[1,1,9] = constant \"b\"\n"
            "%3: f32[9,3] = permute(%1) {perm=[1,0]}\n"
            "%4: f32[9] = reshape(%2) {shape=[9]}\n"
            "%5: f32[2,5,9] = linear(%0, %3, %4)\n"
            "return %5 \"y0\"\n");
}

TEST(FindLinear, RefusesWhatIsNotABias) {
  TestGraph t;
  const ValueId x = t.input({2, 3});
  const ValueId w = t.weight({4, 3});
  const ValueId shared = t.node(fb::LinearT(), {x, w, kNoValue});
  t.output(t.binary(BinaryFn::Add, shared, t.weight({4})));
  t.output(shared);  // read twice
  t.output(t.binary(BinaryFn::Add, t.node(fb::LinearT(), {x, w, kNoValue}), t.weight({2, 4})));
  t.output(t.binary(BinaryFn::Add, t.node(fb::LinearT(), {x, w, kNoValue}), t.weight({1, 2, 4})));
  t.output(t.binary(BinaryFn::Add, t.node(fb::LinearT(), {x, w, t.weight({4})}), t.weight({4})));
  EXPECT_EQ(count_nodes(after(find_linear, t.g), fb::OpAttrs::Binary), 4u);
}

TEST(FindRmsNorm, AsLlamaWritesIt) {
  TestGraph t;
  const ValueId x = t.input({2, 3, 9});
  const ValueId square = t.binary(BinaryFn::Pow, x, t.scalar(2));
  const ValueId mean = t.mean(square, {2}, true);
  const ValueId root = t.unary(UnaryFn::Rsqrt, t.binary(BinaryFn::Add, mean, t.scalar(0.5)));
  t.output(t.binary(BinaryFn::Mul, t.positive({9}, "weight"), t.binary(BinaryFn::Mul, x, root)));
  const std::string text = text_of(after(find_rms_norm, t.g));
  EXPECT_EQ(text,
            "%0: f32[2,3,9] = input \"x0\"\n"
            "%1: f32[9] = constant \"weight\"\n"
            "%2: f32[2,3,9] = rms_norm(%0, %1) {epsilon=0.5}\n"
            "return %2 \"y0\"\n");
}

TEST(FindRmsNorm, NotOverAnotherDim) {
  TestGraph t;
  const ValueId x = t.input({2, 8, 8});
  const ValueId mean = t.mean(t.unary(UnaryFn::Square, x), {1}, true);
  const ValueId root = t.unary(UnaryFn::Rsqrt, t.binary(BinaryFn::Add, mean, t.scalar(0.5)));
  t.output(t.binary(BinaryFn::Mul, x, root));
  EXPECT_EQ(count_nodes(after(find_rms_norm, t.g), fb::OpAttrs::RmsNorm), 0u);
}

/// x * hardsigmoid(x) stays: hardswish overflows where it does not.
TEST(FindActivation, Silu) {
  TestGraph t;
  const ValueId x = t.input({2, 3});
  t.output(t.binary(BinaryFn::Mul, t.unary(UnaryFn::Sigmoid, x), x));
  t.output(t.binary(BinaryFn::Mul, x, t.unary(UnaryFn::Hardsigmoid, x)));
  const ValueId kept = t.unary(UnaryFn::Sigmoid, t.unary(UnaryFn::Exp, x));
  t.output(t.binary(BinaryFn::Mul, x, kept));
  EXPECT_EQ(text_of(after(find_activation, t.g)),
            "%0: f32[2,3] = input \"x0\"\n"
            "%1: f32[2,3] = unary(%0) {fn=Silu}\n"
            "%2: f32[2,3] = unary(%0) {fn=Hardsigmoid}\n"
            "%3: f32[2,3] = binary(%0, %2) {fn=Mul}\n"
            "%4: f32[2,3] = unary(%0) {fn=Exp}\n"
            "%5: f32[2,3] = unary(%4) {fn=Sigmoid}\n"
            "%6: f32[2,3] = binary(%0, %5) {fn=Mul}\n"
            "return %1 \"y0\"\n"
            "return %3 \"y1\"\n"
            "return %6 \"y2\"\n");
}

TEST(FoldTranspose, KeyOfAttention) {
  TestGraph t;
  const ValueId q = t.input({2, 4, 5, 8}), k = t.input({2, 5, 4, 8});
  t.output(t.node(fb::MatMulT(), {q, t.permute(k, {0, 2, 3, 1})}));
  EXPECT_EQ(text_of(after(fold_transpose, t.g)),
            "%0: f32[2,4,5,8] = input \"x0\"\n"
            "%1: f32[2,5,4,8] = input \"x1\"\n"
            "%2: f32[2,4,5,8] = permute(%1) {perm=[0,2,1,3]}\n"
            "%3: f32[2,4,5,5] = matmul(%0, %2) {transpose_b=true}\n"
            "return %3 \"y0\"\n");
}

TEST(FoldTranspose, WholePermute) {
  TestGraph t;
  const ValueId a = t.input({2, 5, 8}), b = t.input({2, 6, 8});
  t.output(t.node(fb::MatMulT(), {a, t.permute(b, {0, 2, 1})}));
  const Graph g = after(fold_transpose, t.g);
  EXPECT_EQ(g.nodes().size(), 1u);
}

/// conv in channels-last, then batch_norm over the last dim and a clamp.
Graph conv_norm_clamp(UnaryFn fn, double alpha, double beta, bool reshaped) {
  TestGraph t;
  fb::Conv2dT conv;
  conv.groups = 2;
  ValueId x =
      t.node(conv, {t.input({1, 1, 5, 4}), t.weight({6, 1, 2, 2}, "conv.weight"), kNoValue});
  if (reshaped) x = t.reshape(x, {1, 4, 6});
  fb::BatchNormT norm;
  norm.channel_axis = reshaped ? 2 : 3;
  x = t.node(norm, {x, t.positive({6}), t.weight({6}), t.weight({6}), t.positive({6})});
  t.output(t.unary(fn, x, alpha, beta));
  return t.g;
}

size_t fold_and_fuse_count(Graph& g) {
  auto folded = fold_batch_norm(g);
  auto fused = fuse_clamp(g);
  return folded.ok() && fused.ok() ? *folded + *fused : 0;
}

TEST(FoldBatchNorm, IntoConvThenClamp) {
  for (bool reshaped : {false, true}) {
    const Graph before = conv_norm_clamp(UnaryFn::Clamp, 0, 6, reshaped);
    Graph g = before;
    EXPECT_EQ(fold_and_fuse_count(g), 2u);
    ASSERT_TRUE(verify_graph(g).ok());
    expect_same(before, g, 1e-5);
    EXPECT_EQ(g.nodes()[0].attrs.text(), "groups=2, min=0, max=6");
    EXPECT_EQ(g.nodes().size(), reshaped ? 2u : 1u);
  }
}

TEST(FoldBatchNorm, IntoTransposedConvAndLinear) {
  TestGraph t;
  fb::ConvTranspose2dT deconv;
  deconv.stride_h = deconv.stride_w = 2;
  fb::BatchNormT last;
  last.channel_axis = 3;
  const ValueId x = t.node(deconv, {t.input({1, 3, 3, 4}), t.weight({2, 2, 2, 4}), t.weight({2})});
  t.output(t.node(last, {x, kNoValue, kNoValue, t.weight({2}), t.positive({2})}));
  const ValueId y = t.node(fb::LinearT(), {t.input({5, 3}), t.weight({2, 3}), t.weight({2})});
  t.output(t.node(fb::BatchNormT(),
                  {y, t.positive({2}), t.weight({2}), t.weight({2}), t.positive({2})}));
  EXPECT_EQ(count_nodes(after(fold_batch_norm, t.g), fb::OpAttrs::BatchNorm), 0u);
}

TEST(FoldBatchNorm, NotWhenReadTwiceOrClampedOrOverAnotherDim) {
  TestGraph t;
  const ValueId w = t.weight({5, 3});
  const ValueId x = t.node(fb::LinearT(), {t.input({5, 5, 3}), w, kNoValue});
  t.output(x);
  t.output(t.node(fb::BatchNormT(), {x, kNoValue, kNoValue, t.weight({5}), t.positive({5})}));
  fb::LinearT relu;
  relu.min = 0;
  fb::BatchNormT last;
  last.channel_axis = 2;
  const ValueId y = t.node(relu, {t.input({5, 5, 3}), w, kNoValue});
  t.output(t.node(last, {y, kNoValue, kNoValue, t.weight({5}), t.positive({5})}));
  EXPECT_EQ(count_nodes(after(fold_batch_norm, t.g), fb::OpAttrs::BatchNorm), 2u);
}

TEST(FoldBatchNorm, GoldenText) {
  TestGraph t;
  fb::BatchNormT last;
  last.channel_axis = 3;
  const ValueId x = t.node(
      fb::Conv2dT(), {t.input({1, 4, 4, 2}), t.weight({9, 1, 1, 2}, "conv.weight"), kNoValue});
  t.output(t.node(last, {x, t.positive({9}), t.weight({9}), t.weight({9}), t.positive({9})}));
  EXPECT_EQ(text_of(after(fold_batch_norm, t.g)),
            "%0: f32[1,4,4,2] = input \"x0\"\n"
            "%1: f32[9,1,1,2] = constant \"conv.weight\"\n"
            "%2: f32[9] = constant \"conv.weight.folded_bias\"\n"
            "%3: f32[1,4,4,9] = conv2d(%0, %1, %2)\n"
            "return %3 \"y0\"\n");
}

TEST(ExpandBatchNorm, GoldenText) {
  TestGraph t;
  t.output(t.batch_norm(t.input({2, 9, 4})));
  EXPECT_EQ(text_of(after(expand_batch_norm, t.g)),
            "%0: f32[2,9,4] = input \"x0\"\n"
            "%1: f32[9,1] = constant\n"
            "%2: f32[9,1] = constant\n"
            "%3: f32[2,9,4] = binary(%0, %1) {fn=Mul}\n"
            "%4: f32[2,9,4] = binary(%3, %2) {fn=Add}\n"
            "return %4 \"y0\"\n");
}

TEST(FuseClamp, GoldenText) {
  TestGraph t;
  const ValueId x = t.node(fb::LinearT(), {t.input({2, 3}), t.weight({9, 3}), t.weight({9}, "b")});
  t.output(t.unary(UnaryFn::Relu, t.reshape(x, {2, 3, 3})));
  EXPECT_EQ(text_of(after(fuse_clamp, t.g, 0)),
            "%0: f32[2,3] = input \"x0\"\n"
            "%1: f32[9,3] = constant \"w\"\n"
            "%2: f32[9] = constant \"b\"\n"
            "%3: f32[2,9] = linear(%0, %1, %2) {min=0}\n"
            "%4: f32[2,3,3] = reshape(%3) {shape=[2,3,3]}\n"
            "return %4 \"y0\"\n");
}

TEST(ExpandBatchNorm, BecomesMultiplyAndAdd) {
  TestGraph t;
  t.output(t.batch_norm(t.input({2, 3, 4, 5})));
  t.output(t.batch_norm(t.input({2, 3})));
  const Graph g = after(expand_batch_norm, t.g);
  EXPECT_EQ(count_nodes(g, fb::OpAttrs::Binary), 4u);
  EXPECT_EQ(g.nodes().size(), 4u);
}

TEST(FuseClamp, RangesIntersect) {
  TestGraph t;
  ValueId x = t.node(fb::LinearT(), {t.input({2, 3}), t.weight({4, 3}), kNoValue});
  x = t.unary(UnaryFn::Clamp, x, -1, 0.5);
  x = t.unary(UnaryFn::Relu, x);
  t.output(t.unary(UnaryFn::Hardswish, x));  // stays
  const Graph g = after(fuse_clamp, t.g, 0);
  ASSERT_EQ(g.nodes().size(), 2u);
  EXPECT_EQ(g.nodes()[0].attrs.text(), "min=0, max=0.5");
}

TEST(FuseClamp, NotWhenReadTwiceOrDisjoint) {
  TestGraph t;
  const ValueId x = t.node(fb::LinearT(), {t.input({2, 3}), t.weight({4, 3}), kNoValue});
  t.output(t.unary(UnaryFn::Relu, x));
  t.output(x);
  const ValueId y = t.node(fb::LinearT(), {t.input({2, 3}), t.weight({4, 3}), kNoValue});
  t.output(t.unary(UnaryFn::Clamp, t.unary(UnaryFn::Clamp, y, 0, 1), 2, 3));
  const Graph g = after(fuse_clamp, t.g, 0);
  EXPECT_EQ(count_nodes(g, fb::OpAttrs::Unary), 2u);
}

}  // namespace
}  // namespace lazyrt
