#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "host_tracer/report/bundle_text.h"
#include "host_tracer/report/html.h"
#include "host_tracer/report/memory_svg.h"
#include "host_tracer/report/module_costs.h"
#include "host_tracer/report/summary.h"

namespace lazyrt {
namespace {

ValueLine value(const char* kind, int64_t extent, uint64_t offset, int first, int last) {
  ValueLine v;
  v.kind = kind;
  v.dtype = DType::kFloat32;
  v.shape = {extent};
  v.offset = offset;
  v.bytes = static_cast<uint64_t>(extent) * 4;
  v.first = first;
  v.last = last;
  return v;
}

NodeLine node(const char* op, std::vector<int> inputs, std::vector<int> outputs, const char* module,
              uint64_t flops) {
  NodeLine n;
  n.op = op;
  n.inputs = std::move(inputs);
  n.outputs = std::move(outputs);
  n.backend = "cpu";
  n.module_path = module;
  n.flops = flops;
  return n;
}

/// x -> linear (two modules share the constant) -> sort of "cumsum" on the reference kernel.
MethodInfo sample_method() {
  MethodInfo m;
  m.name = "forward";
  m.inputs = {{"x", DType::kFloat32, {16}}};
  m.outputs = {{"y", DType::kFloat32, {16}}};
  m.values = {value("Input", 16, 0, -1, 3), value("Constant", 256, 0, -1, 1),
              value("Arena", 16, 128, 0, 1), value("Arena", 16, 256, 1, 2),
              value("Arena", 16, 128, 2, 3)};
  m.nodes = {node("linear", {0, 1}, {2}, "a.b.c.d.e", 512),
             node("linear", {2, 1}, {3}, "a.b.c.x", 512), node("cum_sum", {3}, {4}, "head", 0)};
  m.nodes[2].backend = "reference";
  m.nodes[2].reason = "no kernel <of its own>";
  m.ops = {{"linear", 2}, {"cum_sum", 1}};
  m.arena_bytes = 384;
  m.flops = 1024;
  return m;
}

BundleInfo sample_bundle() {
  BundleInfo info;
  info.path = "m.lzb";
  info.bytes = 1234;
  info.methods.push_back(sample_method());
  return info;
}

TEST(BundleText, Bytes) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(812), "812 B");
  EXPECT_EQ(bytes_text(999), "999 B");
  EXPECT_EQ(bytes_text(1000), "1.00 kB");
  EXPECT_EQ(bytes_text(15364336), "15.4 MB");
  EXPECT_EQ(bytes_text(999999999), "1.00 GB");
}

TEST(BundleText, Tensors) {
  EXPECT_EQ(tensor_text(DType::kInt64, {1, 0, 3}), "i64[1,0,3]");
  EXPECT_EQ(tensor_text(DType::kBool, {}), "bool[]");
}

TEST(BundleText, NamesReferenceNodesAndWhy) {
  const BundleInfo info = sample_bundle();
  const std::string text = bundle_text(info, /*with_nodes=*/true);
  EXPECT_NE(text.find("1 node(s) that cpu runs by a reference kernel"), std::string::npos) << text;
  EXPECT_NE(text.find("cum_sum: no kernel <of its own>"), std::string::npos) << text;
  EXPECT_NE(text.find("x: f32[16]"), std::string::npos) << text;
  const auto json = bundle_json(info);
  EXPECT_EQ(json["methods"][0]["reference_nodes"][0]["op"], "cum_sum");
  EXPECT_EQ(json["methods"][0]["reference_nodes"][0]["node"], 2);
  EXPECT_EQ(json["methods"][0]["ops"]["linear"], 2);
  EXPECT_EQ(json["methods"][0]["inputs"][0]["name"], "x");
}

TEST(ModuleCosts, GroupsUpToTheFirstNumber) {
  MethodInfo method = sample_method();
  method.nodes[0].module_path = "m.model.layers.0.mlp.up";
  method.nodes[1].module_path = "m.model.layers.1.mlp.up";
  method.nodes[2].module_path = "";
  const auto costs = module_costs(method);
  ASSERT_EQ(costs.size(), 3u);
  EXPECT_EQ(costs[0].module, "m.model.layers.0");
  EXPECT_EQ(costs[1].module, "m.model.layers.1");
  EXPECT_EQ(costs[2].module, "");
}

TEST(ModuleCosts, GroupsByTheFirstThreePartsAndCountsConstantsOnce) {
  const auto costs = module_costs(sample_method());
  ASSERT_EQ(costs.size(), 2u);
  EXPECT_EQ(costs[0].module, "a.b.c");
  EXPECT_EQ(costs[0].nodes, 2u);
  EXPECT_EQ(costs[0].flops, 1024u);
  EXPECT_EQ(costs[0].constant_bytes, 1024u);
  EXPECT_EQ(costs[1].module, "head");
}

TEST(MemorySvg, DrawsEachValueThatOwnsMemory) {
  MethodInfo method = sample_method();
  method.values[4].alias_of = 3;
  const std::string svg = memory_svg(method);
  size_t bars = 0;
  for (size_t at = svg.find("<rect"); at != std::string::npos; at = svg.find("<rect", at + 1))
    ++bars;
  EXPECT_EQ(bars, 3u);
  method.arena_bytes = 0;
  EXPECT_EQ(memory_svg(method).find("<svg"), std::string::npos);
}

TEST(Html, EscapesWhatComesFromTheModel) {
  BundleInfo info = sample_bundle();
  info.methods[0].inputs[0].name = "<script>";
  const std::string page = html_report(info, nullptr);
  EXPECT_EQ(page.find("<script>"), std::string::npos);
  EXPECT_NE(page.find("&lt;script&gt;"), std::string::npos);
  EXPECT_NE(page.find("no kernel &lt;of its own&gt;"), std::string::npos);
}

TEST(Summary, CountsTiedParametersOnce) {
  Trace trace;
  static const uint8_t bytes[40] = {};
  for (const LeafKind leaf : {LeafKind::kParameter, LeafKind::kParameter, LeafKind::kConstant}) {
    TraceValue v;
    v.dtype = DType::kFloat32;
    v.shape = {5};
    v.leaf = leaf;
    v.constant = {nullptr, leaf == LeafKind::kConstant ? bytes + 20 : bytes, 20};
    trace.values.push_back(v);
  }
  ExportSummary summary;
  count_parameters(trace, &summary);
  EXPECT_EQ(summary.parameter_count, 5u);
  EXPECT_EQ(summary.parameter_bytes, 20u);
}

TEST(Summary, TextAndJsonTellTheSame) {
  ExportSummary summary;
  summary.model = "m.pt2";
  summary.bundle = sample_bundle();
  summary.notes = {"input x was made up"};
  summary.check = {{"y", 0.5, 1.0, false}};
  const std::string text = summary_text(summary);
  for (const char* part :
       {"m.pt2 -> m.lzb", "assumed     input x was made up", "TOO LARGE", "f32[16]"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
  const auto json = summary_json(summary);
  EXPECT_EQ(json["check"][0]["relative_error"], 0.5);
  EXPECT_EQ(json["nodes"]["final"], 3);
  EXPECT_EQ(json["notes"][0], "input x was made up");
}

}  // namespace
}  // namespace lazyrt
