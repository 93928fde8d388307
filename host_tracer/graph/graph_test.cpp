#include "host_tracer/graph/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "host_tracer/graph/attr_fields.h"
#include "host_tracer/graph/elements.h"
#include "host_tracer/graph/evaluate.h"
#include "host_tracer/graph/rewriter.h"
#include "lazyrt/runtime.h"

namespace lazyrt {
namespace {

Attrs unary(fb::UnaryFn fn) {
  fb::UnaryT t;
  t.fn = fn;
  return Attrs::of(t);
}

TEST(Attrs, TextEqualityAndRoundTrip) {
  fb::Conv2dT conv;
  conv.stride_h = 2;
  conv.min = 0;
  const Attrs a = Attrs::of(conv);
  EXPECT_EQ(a.text(), "stride_h=2, min=0");
  EXPECT_STREQ(a.name(), "conv2d");
  EXPECT_EQ(a.as<fb::Conv2d>().stride_w(), 1);
  EXPECT_TRUE(Attrs(a.unpack()) == a);
  EXPECT_EQ(Attrs(a.unpack()).hash(), a.hash());
  conv.stride_h = 3;
  EXPECT_FALSE(Attrs::of(conv) == a);
  EXPECT_FALSE(Attrs::of(fb::WhereT()) == Attrs::of(fb::LinearT()));
  EXPECT_STREQ(Attrs().name(), "none");
  EXPECT_EQ(Attrs().text(), "");
}

TEST(Attrs, TextOfEnumsAndVectors) {
  EXPECT_EQ(unary(fb::UnaryFn::Abs).text(), "fn=Abs");  // the default, still shown
  fb::SliceT slice;
  slice.starts = {0, 1};
  slice.sizes = {2, 3};
  EXPECT_EQ(Attrs::of(slice).text(), "starts=[0,1], sizes=[2,3]");
  fb::CastT cast;
  cast.to = fb::DType::Int64;
  EXPECT_EQ(Attrs::of(cast).text(), "to=Int64");
}

/// One table of each operator: what its fields say makes it again, and each can be set to itself.
TEST(Attrs, FieldsOfEveryOperatorReadAndWrite) {
  for (int kind = 1; kind <= static_cast<int>(fb::OpAttrs::MAX); ++kind) {
    fb::OpAttrsUnion op;
    op.type = static_cast<fb::OpAttrs>(kind);
    flatbuffers::FlatBufferBuilder empty;
    empty.Finish(flatbuffers::Offset<flatbuffers::Table>(empty.EndTable(empty.StartTable())));
    op.value = fb::OpAttrsUnion::UnPack(
        flatbuffers::GetRoot<flatbuffers::Table>(empty.GetBufferPointer()), op.type, nullptr);
    const Attrs attrs(op);
    SCOPED_TRACE(attrs.name());
    const std::vector<AttrField> fields = attr_fields(attrs);
    EXPECT_EQ(fields.size(), attrs_type_table(op.type)->num_elems);
    EXPECT_TRUE(attrs_of(op.type, fields) == attrs);
    for (const AttrField& field : fields) {
      auto same = with_attribute(attrs, field.name, field.text());
      ASSERT_TRUE(same.ok()) << same.failure().text;
      EXPECT_TRUE(*same == attrs) << field.name;
    }
  }
}

TEST(Attrs, OneIsSetByName) {
  const auto set = [](const Attrs& attrs, const char* name, const char* text) {
    const auto changed = with_attribute(attrs, name, text);
    return changed.ok() ? changed->text() : changed.failure().text;
  };
  const Attrs conv = Attrs::of(fb::Conv2dT()), slice = Attrs::of(fb::SliceT());
  EXPECT_EQ(set(conv, "stride_w", "3"), "stride_w=3");
  EXPECT_EQ(set(conv, "max", "6.5"), "max=6.5");
  EXPECT_EQ(set(conv, "min", "-inf"), "");
  EXPECT_EQ(set(slice, "sizes", "[4,-1,9223372036854775807]"), "sizes=[4,-1,9223372036854775807]");
  EXPECT_EQ(set(slice, "sizes", "[]"), "");
  EXPECT_EQ(set(unary(fb::UnaryFn::Abs), "fn", "Tanh"), "fn=Tanh");
  EXPECT_EQ(set(Attrs::of(fb::MatMulT()), "transpose_b", "true"), "transpose_b=true");
  EXPECT_EQ(set(Attrs::of(fb::CustomOpT()), "name", "\"swirl\""), "name=\"swirl\"");
  EXPECT_EQ(set(conv, "stride_w", "2147483648"), "conv2d: stride_w cannot be '2147483648'");
  EXPECT_EQ(set(conv, "stride_w", "2x"), "conv2d: stride_w cannot be '2x'");
  EXPECT_EQ(set(slice, "sizes", "4"), "slice: sizes cannot be '4'");
  EXPECT_EQ(set(Attrs::of(fb::PadT()), "mode", "Mirror"),
            "pad: mode cannot be 'Mirror': one of Constant, Reflect, Replicate, Circular");
  EXPECT_EQ(set(Attrs::of(fb::SoftmaxT()), "dim", "1"),
            "softmax has no attribute 'dim', but axis, log, safe");
}

TEST(Graph, ShapesComeFromTheRules) {
  Graph g(default_ops());
  const ValueId x = g.add_input("x", DType::kFloat32, {2, 3});
  auto y =
      g.add(Attrs::of(fb::LinearT()), {x, g.add_input("w", DType::kFloat32, {5, 3}), kNoValue}, {});
  ASSERT_TRUE(y.ok());
  EXPECT_TRUE(g.value(*y).shape == Shape({2, 5}));
  EXPECT_EQ(g.producer(*y), &g.nodes()[0]);
}

TEST(Graph, FailureNamesOperandsAndSource) {
  Graph g(default_ops());
  const ValueId x = g.add_input("x", DType::kFloat32, {2, 3});
  const Source source{"head", "net.py", 12, "aten::linear"};
  auto y = g.add(Attrs::of(fb::LinearT()), {x, g.add_input("w", DType::kFloat32, {5, 4}), kNoValue},
                 source);
  ASSERT_FALSE(y.ok());
  for (const char* part : {"linear(f32[2,3], f32[5,4], -)", "aten::linear", "head (net.py:12)"}) {
    EXPECT_NE(y.failure().text.find(part), std::string::npos) << y.failure().text;
  }
  EXPECT_FALSE(g.add(Attrs::of(fb::LinearT()), {x}, source).ok());
  EXPECT_FALSE(g.add(Attrs::of(fb::LinearT()), {x, kNoValue, kNoValue}, source).ok());
  EXPECT_TRUE(g.nodes().empty());
}

TEST(Graph, Text) {
  Graph g(default_ops());
  const ValueId x = g.add_input("x", DType::kFloat32, {2});
  auto y = g.add(unary(fb::UnaryFn::Exp), {x}, {"layer", "net.py", 3, "aten::exp"});
  fb::BinaryT add;
  auto z = g.add(Attrs::of(add), {*y, g.add_scalar(DType::kFloat32, 1.5)}, {});
  g.outputs().push_back({"y", *z, std::nullopt});
  g.outputs().push_back({"n", kNoValue, int64_t{3}});
  g.compact();
  EXPECT_EQ(graph_text(g),
            "%0: f32[2] = input \"x\"\n"
            "%1: f32[] = constant {1.5}\n"
            "%2: f32[2] = unary(%0) {fn=Exp}  # layer (net.py:3)\n"
            "%3: f32[2] = binary(%2, %1) {fn=Add}\n"
            "return %3 \"y\"\n"
            "return 3 \"n\"\n");
}

/// x -> exp -> neg.
Graph chain() {
  Graph g(default_ops());
  const ValueId x = g.add_input("x", DType::kFloat32, {2});
  const ValueId y = *g.add(unary(fb::UnaryFn::Exp), {x}, {});
  g.outputs().push_back({"y", *g.add(unary(fb::UnaryFn::Neg), {y}, {}), std::nullopt});
  return g;
}

void expect_refused(const Graph& g, const std::string& why) {
  auto done = verify_graph(g);
  ASSERT_FALSE(done.ok()) << why;
  EXPECT_NE(done.failure().text.find(why), std::string::npos) << done.failure().text;
}

TEST(VerifyGraph, FindsEachFault) {
  EXPECT_TRUE(verify_graph(chain()).ok());
  Graph g = chain();
  std::deque<Node> nodes = g.take_nodes();
  std::swap(nodes[0], nodes[1]);
  for (Node& n : nodes) g.append(n);
  expect_refused(g, "before it is defined");

  g = chain();
  g.value(1).shape = {3};
  expect_refused(g, "the shape rule says f32[2]");

  g = chain();
  g.value(1).producer = 1;
  expect_refused(g, "another producer");

  g = chain();
  nodes = g.take_nodes();
  nodes[1].outputs = nodes[0].outputs;
  for (const Node& n : nodes) g.append(n);
  expect_refused(g, "names another producer");

  g = chain();
  nodes = g.take_nodes();
  nodes[1].inputs = {};
  for (const Node& n : nodes) g.append(n);
  expect_refused(g, "wrong operands");

  g = chain();
  g.outputs()[0].value = 77;
  expect_refused(g, "output \"y\" is not defined");

  g = chain();
  const ValueId c = g.add_scalar(DType::kFloat32, 1);
  g.value(c).shape = {2};
  expect_refused(g, "has 4 bytes, its type wants 8");
}

TEST(Graph, CompactAndDead) {
  Graph g = chain();
  *g.add(unary(fb::UnaryFn::Tanh), {0}, {});
  g.add_scalar(DType::kFloat32, 1);
  EXPECT_EQ(g.remove_dead(), 1u);
  g.compact();
  EXPECT_EQ(g.value_count(), 3u);
  EXPECT_TRUE(verify_graph(g).ok());
}

TEST(Rewriter, ReplacesAndCountsUses) {
  Graph g = chain();
  auto changes = rewrite(g, [](Rewriter& r, const Node& node) -> Outcome<bool> {
    if (node.attrs == unary(fb::UnaryFn::Exp)) {
      EXPECT_EQ(r.uses(node.outputs[0]), 1);
      return r.replace_node(node, unary(fb::UnaryFn::Tanh), node.inputs);
    }
    EXPECT_NE(r.sole_producer(node.inputs[0], fb::OpAttrs::Unary), nullptr);
    return false;
  });
  ASSERT_TRUE(changes.ok());
  EXPECT_EQ(*changes, 1u);
  EXPECT_TRUE(verify_graph(g).ok());
  EXPECT_EQ(g.nodes()[0].attrs.text(), "fn=Tanh");
  EXPECT_EQ(g.nodes().size(), 2u);
}

/// chain() after a rule: "" or why it failed. It is whole in any case.
std::string rewritten(Graph* g, const Rewriter::Rule& rule) {
  const auto changes = rewrite(*g, rule);
  EXPECT_TRUE(verify_graph(*g).ok()) << verify_graph(*g).failure().text;
  return changes.ok() ? "" : changes.failure().text;
}

TEST(Rewriter, WhatARuleDidBeforeItRefusedIsUndone) {
  Graph g = chain();
  const std::string before = graph_text(g);
  const size_t values = g.value_count();
  EXPECT_EQ(rewritten(&g,
                      [](Rewriter& r, const Node& node) -> Outcome<bool> {
                        auto made = r.add(unary(fb::UnaryFn::Tanh), node.inputs, node.source);
                        r.graph().add_scalar(DType::kFloat32, 1);
                        r.replace(node.outputs[0], *made);
                        EXPECT_EQ(r.uses(*made), 1);
                        return false;
                      }),
            "");
  EXPECT_EQ(graph_text(g), before);
  EXPECT_EQ(g.value_count(), values);
}

TEST(Rewriter, NamesAndOriginsThatWereTakenOverAreGivenBack) {
  Graph g = chain();
  const ValueId first = g.nodes()[0].outputs[0], last = g.nodes()[1].outputs[0];
  g.value(last).name = "last";
  g.value(last).origin.value = 7;
  const auto replaced = [&](bool answer) {
    return rewritten(&g, [&](Rewriter& r, const Node& node) -> Outcome<bool> {
      if (node.outputs[0] != last) return false;
      r.replace(last, first);
      EXPECT_EQ(g.value(first).name, "last");
      EXPECT_EQ(g.value(first).origin.value, 7);
      return answer;
    });
  };
  EXPECT_EQ(replaced(false), "");
  EXPECT_EQ(g.value(first).name, "");
  EXPECT_FALSE(g.value(first).origin.is_known());
  EXPECT_EQ(replaced(true), "");
  EXPECT_EQ(g.value(first).name, "last");
  EXPECT_EQ(g.value(first).origin.value, 7);
}

TEST(Rewriter, PatchesThatAreWrongAreUndoneAndNamed) {
  Graph g = chain();
  const std::string before = graph_text(g);
  EXPECT_THAT(rewritten(&g,
                        [](Rewriter& r, const Node& node) -> Outcome<bool> {
                          fb::ReshapeT t;
                          t.shape = {2, 1};
                          return r.replace_node(node, Attrs::of(t), node.inputs);
                        }),
              testing::HasSubstr("f32[2] was replaced by"));
  EXPECT_EQ(graph_text(g), before);
  EXPECT_THAT(rewritten(&g, [](Rewriter&, const Node&) -> Outcome<bool> { return true; }),
              testing::HasSubstr("is read, but was not replaced"));
  EXPECT_EQ(graph_text(g), before);
  const ValueId last = g.nodes()[1].outputs[0];
  EXPECT_THAT(rewritten(&g,
                        [last](Rewriter& r, const Node& node) -> Outcome<bool> {
                          r.replace(node.outputs[0], last);
                          return true;
                        }),
              testing::HasSubstr("which is not made before it"));
  EXPECT_EQ(graph_text(g), before);
}

TEST(Rewriter, AFailedRuleLeavesWhatWasDoneBefore) {
  Graph g = chain();
  EXPECT_EQ(rewritten(&g,
                      [](Rewriter& r, const Node& node) -> Outcome<bool> {
                        if (node.attrs == unary(fb::UnaryFn::Exp)) {
                          return r.replace_node(node, unary(fb::UnaryFn::Tanh), node.inputs);
                        }
                        (void)*r.add(unary(fb::UnaryFn::Cos), node.inputs, node.source);
                        return Failure{Error::kInternal, "no"};
                      }),
            "no");
  ASSERT_EQ(g.nodes().size(), 2u);
  EXPECT_EQ(g.nodes()[0].attrs.text(), "fn=Tanh");
}

/// A chain of nodes that all die when the last is replaced: as deep as the graph, without
/// recursion.
TEST(Rewriter, AGraphOfAnyDepthIsUnread) {
  Graph g(default_ops());
  ValueId x = g.add_input("x", DType::kFloat32, {2});
  const ValueId input = x;
  constexpr int kNodes = 200000;
  for (int i = 0; i < kNodes; ++i) x = *g.add(unary(fb::UnaryFn::Neg), {x}, {});
  g.outputs().push_back({"y", x, {}});
  const auto changes = rewrite(g, [&](Rewriter& r, const Node& node) -> Outcome<bool> {
    if (node.outputs[0] != x) return false;
    r.replace(x, input);
    return true;
  });
  ASSERT_TRUE(changes.ok());
  EXPECT_EQ(g.nodes().size(), 0u);
}

/// Room for what nothing makes yet.
TEST(Graph, QuantizedValuesAreChecked) {
  Graph g(default_ops());
  const int8_t bytes[] = {1, 2, 3};
  const ValueId c = g.add_constant("w", DType::kInt8, {3}, bytes);
  g.outputs().push_back({"y", c, {}});
  g.value(c).quantization = ValueQuantization{{0.5f, 1, 2}, {0, 0, 1}, 0};
  EXPECT_TRUE(verify_graph(g).ok());
  EXPECT_THAT(graph_text(g), testing::HasSubstr("%0: i8[3] quantized = constant"));
  g.value(c).quantization->axis = -1;
  expect_refused(g, "3 scales and 3 zero points along -1 of i8[3]");
  g.value(c).quantization = ValueQuantization{{0.5f}, {0}, -1};
  EXPECT_TRUE(verify_graph(g).ok());
  const ValueId packed = g.add_constant("p", DType::kInt4, {3}, bytes);
  EXPECT_EQ(g.value(packed).constant.bytes, 2u);
  EXPECT_EQ(g.value(packed).bytes(), 2u);
}

TEST(Evaluate, RunsTheReference) {
  Graph g = chain();
  HostTensor x = HostTensor::make(DType::kFloat32, {2});
  write_element(DType::kFloat32, x.data.get(), 1, 1.0);
  auto y = evaluate(g, {x});
  ASSERT_TRUE(y.ok());
  EXPECT_FLOAT_EQ(static_cast<float>(read_element(DType::kFloat32, (*y)[0].data.get(), 0)), -1.0f);
  EXPECT_NEAR(read_element(DType::kFloat32, (*y)[0].data.get(), 1), -std::exp(1.0), 1e-6);
  EXPECT_FALSE(evaluate(g, {}).ok());
  EXPECT_FALSE(evaluate(g, {HostTensor::make(DType::kFloat32, {3})}).ok());
}

TEST(Elements, RoundTrips) {
  uint8_t bytes[8] = {};
  for (int t = 1; t < kDTypeCount; ++t) {
    const auto dtype = static_cast<DType>(t);
    write_element(dtype, bytes, 0, 1);
    EXPECT_EQ(read_element(dtype, bytes, 0), 1) << dtype_name(dtype);
    if (!is_floating(dtype)) continue;
    for (double v : {-0.5, 65504.0, 3.0517578125e-05, HUGE_VAL, -HUGE_VAL}) {
      if (dtype == DType::kBFloat16 && v == 65504.0) continue;
      write_element(dtype, bytes, 0, v);
      EXPECT_EQ(read_element(dtype, bytes, 0), v) << dtype_name(dtype);
    }
    write_element(dtype, bytes, 0, NAN);
    EXPECT_TRUE(std::isnan(read_element(dtype, bytes, 0)));
  }
}

TEST(Elements, SmallFloatsRoundToEvenAndOverflow) {
  uint16_t bits = 0;
  const auto f16 = [&](double v) { return write_element(DType::kFloat16, &bits, 0, v), bits; };
  EXPECT_EQ(f16(1.0 + 1.0 / 2048), 0x3c00);  // a tie, to even
  EXPECT_EQ(f16(1.0 + 3.0 / 2048), 0x3c02);
  EXPECT_EQ(f16(65520), 0x7c00);               // infinity
  EXPECT_EQ(f16(std::ldexp(1, -24)), 0x0001);  // the least subnormal
  EXPECT_EQ(f16(std::ldexp(1, -26)), 0x0000);
  EXPECT_EQ(f16(-0.0), 0x8000);
}

TEST(Elements, IntegersSaturate) {
  int8_t small = 0;
  write_element(DType::kInt8, &small, 0, 300);
  EXPECT_EQ(small, 127);
  int64_t large = 0;
  write_element(DType::kInt64, &large, 0, 1e30);
  EXPECT_EQ(large, std::numeric_limits<int64_t>::max());
  write_element(DType::kInt64, &large, 0, -2.9);
  EXPECT_EQ(large, -2);
}

}  // namespace
}  // namespace lazyrt
