#include "host_tracer/passes/passes.h"
#include "host_tracer/passes/test_graph.h"

namespace lazyrt {
namespace {

TEST(FoldConstants, TransposedWeight) {
  TestGraph t;
  const ValueId w = add_elements(t.g, "w", DType::kFloat32, {2, 3}, {1, 2, 3, 4, 5, 6});
  t.output(t.node(fb::MatMulT(), {t.input({4, 3}), t.permute(w, {1, 0})}));
  EXPECT_EQ(text_of(after(fold_constants, t.g, 0)),
            "%0: f32[4,3] = input \"x0\"\n"
            "%1: f32[3,2] = constant \"w\" {1,4,2,5,3,6}\n"
            "%2: f32[4,2] = matmul(%0, %1)\n"
            "return %2 \"y0\"\n");
}

TEST(FoldConstants, Chains) {
  TestGraph t;
  const ValueId a = t.unary(fb::UnaryFn::Sqrt, t.scalar(16));
  t.output(t.binary(fb::BinaryFn::Div, t.input({2}), a));
  EXPECT_EQ(text_of(after(fold_constants, t.g, 0)),
            "%0: f32[2] = input \"x0\"\n"
            "%1: f32[] = constant {4}\n"
            "%2: f32[2] = binary(%0, %1) {fn=Div}\n"
            "return %2 \"y0\"\n");
}

TEST(FoldConstants, LeavesLargeExpandsSymbolic) {
  TestGraph t;
  fb::ExpandT expand;
  expand.shape = {100, 100};
  t.output(t.node(fb::ConcatT(), {t.input({1, 100}), t.node(expand, {t.scalar(3)})}));
  EXPECT_EQ(count_nodes(after(fold_constants, t.g, 0), fb::OpAttrs::Expand), 1u);
}

TEST(FoldConstants, SeveralOutputs) {
  TestGraph t;
  fb::TopKT topk;
  topk.k = 1;
  const ValueId c = add_elements(t.g, "", DType::kFloat32, {3}, {1, 7, 5});
  auto made = t.g.add_node(Attrs::of(topk), {c}, Source());
  ASSERT_TRUE(made.ok());
  t.output((*made)[0]);
  t.output((*made)[1]);
  EXPECT_EQ(text_of(after(fold_constants, t.g, 0)),
            "%0: f32[1] = constant {7}\n"
            "%1: i64[1] = constant {1}\n"
            "return %0 \"y0\"\n"
            "return %1 \"y1\"\n");
}

}  // namespace
}  // namespace lazyrt
