#include "host_tracer/aten/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "aten/rule_lists.h"
#include "host_tracer/aten/trace_builder.h"

namespace lazyrt {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Import, ListsEveryUnsupportedCallWithItsPlaceAndReason) {
  TraceBuilder b;
  const auto x = b.input({2, 3});
  const auto a = b.call("frobnicate", {{"self", t(x)}}, {2, 3});
  const auto w = b.call("frobnicate", {{"self", t(a)}}, {2, 3});
  const auto y = b.call("fractional_max_pool2d", {{"self", t(w)}}, {2, 3});
  b.output(b.call("rand_like", {{"self", t(y)}}, {2, 3}));
  EXPECT_THAT(run(b.trace).error,
              AllOf(HasSubstr("4 calls"), HasSubstr("aten::frobnicate: is not supported yet (2"),
                    HasSubstr("at block.1 (net.py:1)"), HasSubstr("at block.1 (net.py:2)"),
                    HasSubstr("aten::fractional_max_pool2d: is not supported: it draws"),
                    HasSubstr("net.py:3"), HasSubstr("aten::rand_like"), HasSubstr("net.py:4")));
}

TEST(Import, CallsAfterAFailedOneAreNotBlamed) {
  TraceBuilder b;
  const auto a = b.call("frobnicate", {{"self", t(b.input({2}))}}, {2});
  b.output(b.call("relu", {{"self", t(a)}}, {2}));
  EXPECT_THAT(run(b.trace).error, AllOf(HasSubstr("1 call of"), Not(HasSubstr("relu"))));
}

TEST(Import, ErrorsNameOperatorArgumentAndSource) {
  TraceBuilder b;
  const auto x = b.input({2, 3});
  b.output(b.call("softmax.int", {{"self", t(x)}, {"dim", int64_t{5}}}, {2, 3}));
  b.output(b.call("glu", {{"self", t(x)}}, {2, 3}));
  b.output(b.call("transpose.int", {{"self", true}, {"dim0", int64_t{0}}}, {2, 3}));
  EXPECT_THAT(run(b.trace).error,
              AllOf(HasSubstr("aten::softmax.int: argument 'dim' is 5"), HasSubstr("net.py:1"),
                    HasSubstr("aten::glu: argument 'dim' is missing"), HasSubstr("net.py:2"),
                    HasSubstr("aten::transpose.int: argument 'self' is not a tensor")));
}

TEST(Import, AResultOfAnotherShapeThanTheTracesIsAnError) {
  TraceBuilder b;
  const auto x = b.input({2, 3});
  b.output(b.call("relu", {{"self", t(x)}}, {3, 2}));
  EXPECT_THAT(run(b.trace).error, AllOf(HasSubstr("f32[2,3]"), HasSubstr("f32[3,2]")));
}

TEST(Import, UnusedCallsAreDroppedAndUnusedInputsKept) {
  TraceBuilder b;
  const auto x = b.input({2});
  b.input({7});
  b.call("frobnicate", {{"self", t(x)}}, {2});
  b.output(b.call("relu", {{"self", t(x)}}, {2}));
  ImportReport report;
  const auto graph = import_trace(b.trace, default_ops(), &report);
  ASSERT_TRUE(graph.ok()) << graph.failure().text;
  EXPECT_EQ(graph->inputs().size(), 2U);
  EXPECT_EQ(graph->nodes().size(), 1U);
  EXPECT_EQ(report.dead_nodes, 1);
  ASSERT_EQ(report.ops.size(), 2U);
  EXPECT_EQ(report.ops[1].name, "aten::relu");
  EXPECT_EQ(report.ops[1].rule, "activation");
  EXPECT_EQ(report.ops[1].calls, 1);
}

TEST(Import, OutputsMayBeInputsConstantsLiteralsAndRepeated) {
  TraceBuilder b;
  const auto x = b.input({2});
  b.output(x);
  b.output(b.constant({2}, {3, 4}));
  b.output(x);
  b.trace.outputs.push_back({"n", kNoTraceValue, int64_t{5}});
  const auto graph = import_trace(b.trace, default_ops(), nullptr);
  ASSERT_TRUE(graph.ok()) << graph.failure().text;
  ASSERT_EQ(graph->outputs().size(), 4U);
  EXPECT_EQ(graph->outputs()[0].value, graph->outputs()[2].value);
  EXPECT_EQ(std::get<int64_t>(*graph->outputs()[3].literal), 5);
}

TEST(Import, GuardsAndStatesAreRoots) {
  TraceBuilder b;
  const auto x = b.input({2});
  const auto h = b.constant({2}, {1, 2});
  b.trace.values[static_cast<size_t>(h)].leaf = LeafKind::kState;
  b.trace.values[static_cast<size_t>(h)].name = "h";
  b.trace.states.push_back({h, b.call("relu", {{"self", t(x)}}, {2})});
  const auto total = b.call("sum", {{"self", t(x)}, {"dtype", std::monostate()}}, {});
  b.trace.guards.push_back({total, int64_t{3}, "int(x.sum())", {"", "model.py", 4, ""}});
  b.output(h);
  const auto graph = import_trace(b.trace, default_ops(), nullptr);
  ASSERT_TRUE(graph.ok()) << graph.failure().text;
  ASSERT_TRUE(verify_graph(*graph).ok());
  EXPECT_EQ(graph->nodes().size(), 2U);
  ASSERT_EQ(graph->guards().size(), 1U);
  EXPECT_EQ(graph->guards()[0].seen, SeenNumber(3.0)) << "an int of a real number is real";
  ASSERT_EQ(graph->states().size(), 1U);
  EXPECT_EQ(graph->outputs()[0].value, graph->states()[0].value);
}

TEST(Import, GuardsOfConstantsAreCheckedAndDropped) {
  for (const double seen : {6.0, 5.0}) {
    TraceBuilder b;
    const auto w = b.constant({2}, {2, 4});
    const auto total = b.call("sum", {{"self", t(w)}, {"dtype", std::monostate()}}, {});
    b.trace.guards.push_back({total, seen, "w.sum().item()", {"", "model.py", 4, ""}});
    b.output(b.input({2}));
    const auto graph = import_trace(b.trace, default_ops(), nullptr);
    ASSERT_EQ(graph.ok(), seen == 6.0);
    if (graph.ok()) {
      EXPECT_TRUE(graph->guards().empty());
    } else {
      EXPECT_THAT(graph.failure().text,
                  HasSubstr("w.sum().item() was 5 in the trace, but no input changes it"));
    }
  }
}

TEST(Import, BrokenGuardsAndStatesOfTheTraceAreNamed) {
  const auto refusal = [](void (*spoil)(TraceBuilder&, TraceValueId)) {
    TraceBuilder b;
    const auto x = b.input({2});
    b.output(x);
    spoil(b, x);
    return imported_text(b.trace);
  };
  EXPECT_THAT(
      refusal([](TraceBuilder& b, TraceValueId) {
        b.trace.guards.push_back({99, true, "g", {}});
      }),
      HasSubstr("a guard or state of the trace names a value that the trace does not have"));
  EXPECT_THAT(
      refusal([](TraceBuilder& b, TraceValueId x) {
        b.trace.states.push_back({x, x});
      }),
      HasSubstr("a guard or state of the trace names a value that the trace does not have"));
  EXPECT_THAT(refusal([](TraceBuilder& b, TraceValueId x) {
                b.trace.guards.push_back({x, true, "g", {}});
              }),
              HasSubstr("guard \"g\" saw true of f32[2]"));
}

TEST(Import, AResultThatNoRuleGivesIsRefusedOnlyWhenItIsUsed) {
  for (const bool used : {false, true}) {
    TraceBuilder b;
    const auto x = b.input({1, 1, 4, 4});
    const auto y = b.call_multi("_scaled_dot_product_flash_attention_for_cpu",
                                {{"query", t(x)}, {"key", t(x)}, {"value", t(x)}},
                                {{DType::kFloat32, {1, 1, 4, 4}}, {DType::kFloat32, {1, 4, 1}}});
    b.output(y[used ? 1 : 0]);
    const std::string error = run(b.trace, {{1, 2}}).error;
    EXPECT_EQ(error.empty(), !used) << error;
  }
}

TEST(Import, TypesThatTheRuntimeLacksAreNamed) {
  TraceBuilder b;
  const auto x = b.input({2});
  b.output(b.call("add.Tensor", {{"self", t(x)}, {"other", t(x)}}, {2}, DType::kNone));
  EXPECT_THAT(run(b.trace).error, HasSubstr("complex"));
}

TEST(Import, ATraceThatNamesValuesOutsideItselfFails) {
  TraceBuilder b;
  b.output(b.call("relu", {{"self", t(99)}}, {2}));
  EXPECT_THAT(run(b.trace).error, HasSubstr("outside the trace"));
}

TEST(Rules, NoNameIsInTwoLists) {
  std::set<std::string> seen;
  for (const NamedRuleList& list : kRuleLists) {
    for (size_t i = 0; i < list.list->count; ++i) {
      const RuleEntry& e = list.list->entries[i];
      EXPECT_TRUE(seen.insert(e.op).second) << e.op << " again in " << list.name;
      EXPECT_NE(e.rule == nullptr, e.refusal == nullptr) << e.op << " in " << list.name;
    }
  }
  EXPECT_GT(seen.size(), 300U);
}

}  // namespace
}  // namespace lazyrt
