#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "host_tracer/report/bundle_text.h"
#include "host_tracer/report/html.h"
#include "host_tracer/report/memory_svg.h"
#include "host_tracer/report/module_costs.h"
#include "host_tracer/report/sha256.h"
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

TEST(ModuleCosts, AreATreeThatCountsConstantsOnce) {
  const ModuleCost root = module_costs(sample_method());
  EXPECT_EQ(root.nodes, 3u);
  EXPECT_EQ(root.flops, 1024u);
  EXPECT_EQ(root.constant_bytes, 1024u);
  EXPECT_EQ(root.parameters, 256u);
  ASSERT_EQ(root.children.size(), 2u);
  const ModuleCost& shared = root.children[0];
  EXPECT_EQ(shared.name, "a.b.c") << "chains of one child are one row";
  EXPECT_EQ(shared.nodes, 2u);
  ASSERT_EQ(shared.children.size(), 2u);
  EXPECT_EQ(shared.children[0].name, "d.e");
  EXPECT_EQ(shared.children[0].parameters, 256u);
  EXPECT_EQ(shared.children[1].parameters, 0u);
  EXPECT_EQ(root.children[1].name, "head");
}

TEST(ModuleCosts, NodesWithoutAModuleBelongToTheRoot) {
  MethodInfo method = sample_method();
  for (NodeLine& n : method.nodes) n.module_path.clear();
  const ModuleCost root = module_costs(method);
  EXPECT_EQ(root.nodes, 3u);
  EXPECT_TRUE(root.children.empty());
}

TEST(Sha256, KnownSums) {
  Sha256 empty;
  EXPECT_EQ(empty.hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  Sha256 abc;
  abc.update("a", 1);
  abc.update("bc", 2);
  EXPECT_EQ(abc.hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256 million;
  const std::string block(1000, 'a');
  for (int i = 0; i < 1000; ++i) million.update(block.data(), block.size());
  EXPECT_EQ(million.hex(), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/// A trace with one of each leaf, a guard, a sync, a state and a baked value.
Trace sample_trace() {
  Trace trace;
  static const uint8_t bytes[64] = {};
  const auto leaf = [&](const char* name, LeafKind kind, bool literal = false) {
    TraceValue v;
    v.name = name;
    v.dtype = DType::kFloat32;
    if (!literal) v.shape = {4};
    v.leaf = kind;
    v.wrapped_number = literal;
    if (kind == LeafKind::kParameter) v.constant = {nullptr, bytes, 16};
    trace.values.push_back(v);
  };
  leaf("x", LeafKind::kInput);
  leaf("w", LeafKind::kParameter);
  leaf("tied", LeafKind::kParameter);
  leaf("sum", LeafKind::kState);
  leaf("", LeafKind::kConstant, true);
  Source source;
  source.file = "/home/user/model.py";
  source.line = 12;
  source.module_path = "encoder.0";
  trace.guards.push_back({0, true, "bool(<x> > 0)", source});
  trace.states.push_back({3, 0});
  trace.syncs.push_back({"item", "0.25", SyncUse::kBaked, source});
  trace.findings.push_back({Severity::kNote, "print", "a tensor is printed", "", source});
  trace.findings.push_back(
      {Severity::kError, "baked-value", "0.25 went into <mul>", "use <torch>", source});
  return trace;
}

TEST(Summary, SaysWhatTheTraceSays) {
  ExportSummary summary;
  describe_traces({sample_trace(), sample_trace()}, &summary);
  EXPECT_EQ(summary.verdict, Verdict::kBroken);
  ASSERT_EQ(summary.findings.size(), 2u) << "equal findings of two traces are one";
  EXPECT_EQ(summary.findings[0].severity, Severity::kError) << "errors first";
  EXPECT_EQ(summary.states, std::vector<std::string>{"sum"});
  const auto json = verdict_json(summary);
  EXPECT_EQ(json["verdict"], "BROKEN");
  EXPECT_EQ(json["findings"][0]["line"], 12);
  EXPECT_EQ(json["guards"][0]["seen"], "true");
  EXPECT_EQ(json["syncs"][0]["use"], "baked");
  EXPECT_EQ(json["leaves"][1]["kind"], "parameter");
  EXPECT_EQ(json["leaves"][1]["count"], 2);
  EXPECT_EQ(json["leaves"][1]["bytes"], 16) << "tied ones once";
  const std::string text = verdict_text(summary);
  for (const char* part :
       {"BROKEN", "baked-value", "model.py:12", "use <torch>", "bool(<x> > 0) = true"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
}

TEST(Html, TellsTheVerdictAndEscapesIt) {
  ExportSummary summary;
  describe_traces({sample_trace()}, &summary);
  summary.model = "<m>.pt";
  const std::string broken = html_report(BundleInfo{}, &summary);
  const std::string page = html_report(sample_bundle(), &summary);
  for (const std::string* html : {&broken, &page}) {
    for (const char* part :
         {"BROKEN", "&lt;m&gt;.pt", "0.25 went into &lt;mul&gt;", "use &lt;torch&gt;",
          "bool(&lt;x&gt; &gt; 0)", "model.py:12", "baked"}) {
      EXPECT_NE(html->find(part), std::string::npos) << part;
    }
    EXPECT_EQ(html->find("<mul>"), std::string::npos);
    EXPECT_EQ(html->find("http"), html->find("http-equiv")) << "nothing is fetched";
  }
}

TEST(Html, ShowsVariantsAndTheirGuards) {
  BundleInfo info = sample_bundle();
  EXPECT_EQ(html_report(info, nullptr).find("id=variants"), std::string::npos);
  VariantLine variant;
  variant.inputs = {{"x", DType::kFloat32, {77}}};
  variant.guards = {{"bool(<x>)", "true", "model.py:12"}};
  info.methods[0].variants = {variant, variant};
  const std::string page = html_report(info, nullptr);
  for (const char* part : {"id=variants", "x: f32[77]", "bool(&lt;x&gt;)", "model.py:12"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
}

TEST(Html, TextsOfTheModelCannotLeaveTheScript) {
  BundleInfo info = sample_bundle();
  info.methods[0].nodes[0].aten = "</script><script>alert(1)";
  const std::string page = html_report(info, nullptr);
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_NE(page.find("\\u003c/script"), std::string::npos);
}

TEST(Html, LargeGraphsStaySmallPages) {
  BundleInfo info = sample_bundle();
  MethodInfo& method = info.methods[0];
  for (int i = 3; i < 12000; ++i) {
    const int id = static_cast<int>(method.values.size());
    method.values.push_back(value("Arena", 16, 128, i, i + 1));
    NodeLine n = node("linear", {id - 1}, {id}, "", 512);
    n.module_path = "layers." + std::to_string(i % 300) + ".fc";
    method.nodes.push_back(n);
  }
  const std::string page = html_report(info, nullptr);
  size_t elements = 0;
  const size_t end = page.find("<script type=\"application/json\"");
  for (size_t at = page.find('<'); at < end; at = page.find('<', at + 1)) ++elements;
  EXPECT_LT(elements, 20000u);
  EXPECT_LT(page.size(), 3000000u);
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
  info.methods[0].inputs[0].name = "<script>alert";
  const std::string page = html_report(info, nullptr);
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_NE(page.find("&lt;script&gt;alert"), std::string::npos);
  EXPECT_NE(page.find("no kernel &lt;of its own&gt;"), std::string::npos);
  EXPECT_EQ(page.find("<of its own>"), std::string::npos);
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
  summary.check.level = CheckLevel::kFull;
  summary.check.lines = {{"y", 0.5, 1.0, 50, false}};
  summary.check.altered = 8;
  summary.check.refused = 5;
  summary.check.altered_compared = 1;
  const std::string text = summary_text(summary);
  for (const char* part :
       {"m.pt2 -> m.lzb", "assumed     input x was made up", "TOO LARGE", "f32[16]",
        "refused 5 of 8 altered inputs", "checked on the sample only"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
  const auto json = summary_json(summary);
  EXPECT_EQ(json["check"][0]["relative_error"], 0.5);
  EXPECT_EQ(json["checked"]["worst"], 50);
  EXPECT_EQ(json["checked"]["sample_only"], true);
  EXPECT_EQ(json["nodes"]["final"], 3);
  EXPECT_EQ(json["notes"][0], "input x was made up");
}

}  // namespace
}  // namespace lazyrt
