// Bundles that a healthy exporter would never write, described for people.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "host_tracer/report/bundle_info.h"
#include "host_tracer/report/bundle_text.h"
#include "host_tracer/report/html.h"
#include "host_tracer/report/module_costs.h"
#include "host_tracer/report/shared_texts.h"
#include "tests/support/dynamic_bundle.h"

namespace lazyrt {
namespace {

using test::BundleParts;
using test::MethodBuilder;

BundleInfo described(const BundleParts& parts) {
  const std::string path = test::write_temp_file(test::write_bundle(parts), "hostile.lzb");
  auto bundle = LoadedBundle::open(path);
  std::filesystem::remove(path);
  if (!bundle.ok()) {
    ADD_FAILURE() << bundle.failure().text;
    return {};
  }
  return describe_bundle(**bundle);
}

/// y = reshape(x, [n]) of x f32[n], n from 1 to 8; the extent is the last of `terms`.
BundleParts reshaped_by(std::vector<fb::Term> terms) {
  BundleParts parts;
  MethodBuilder b(&parts);
  const int x = b.input("x", DType::kFloat32, {4});
  const int y = b.node(test::reshape({4}), {x}, DType::kFloat32, {4}, x);
  b.output("y", b.node(test::relu(), {y}, DType::kFloat32, {4}));
  auto symbol = std::make_unique<fb::SymbolT>();
  symbol->name = "n";
  symbol->max = 8;
  b.method().symbols.push_back(std::move(symbol));
  b.method().values[0]->symbols = {0};
  const auto last = static_cast<int32_t>(terms.size() - 1);
  b.method().terms = std::move(terms);
  b.method().patches = {fb::Patch(0, 0, 0, last, fb::FieldType::Int64)};
  return parts;
}

/// Whose texts are of 2^60 characters, or nested 200,000 times.
TEST(HostileTerms, AreShortened) {
  for (const bool shared : {true, false}) {
    std::vector<fb::Term> terms = {fb::Term(0, 0, 0, 0, fb::TermOp::Symbol)};
    for (int i = 0; i < (shared ? 60 : 200000); ++i)
      terms.emplace_back(0, 0, i, shared ? i : 0, fb::TermOp::Max);
    const BundleInfo info = described(reshaped_by(std::move(terms)));
    ASSERT_EQ(info.methods.size(), 1u);
    ASSERT_EQ(info.methods[0].nodes[0].sizes.size(), 1u);
    const std::string& text = info.methods[0].nodes[0].sizes[0];
    EXPECT_EQ(text.substr(0, 23), "shape[0] = max(max(max(");
    EXPECT_LE(text.size(), 11 + kMostTermText);
    EXPECT_NE(bundle_text(info, true).find("max(max(max("), std::string::npos);
  }
}

TEST(SharedTexts, AreWholeAsLongAsThereIsRoom) {
  SharedTexts texts;
  const std::string text(1 << 20, 't');
  size_t all = 0;
  for (int i = 0; i < 32; ++i) EXPECT_EQ(texts.take(text), text);
  for (int i = 0; i < 1000; ++i) all += texts.take(text).size();
  EXPECT_LE(all, 100u * 1000);
  EXPECT_EQ(texts.take("short"), "short");
}

/// Many nodes of one source with long texts.
TEST(HostileSources, AreNotCopiedForEachNode) {
  constexpr int kCount = 60000;  // four texts of 1000 bytes each: 240 MB
  BundleParts parts = test::relu_chain(kCount);
  fb::MethodT& method = *parts.bundle.methods[0];
  method.symbols.clear();
  method.values[0]->symbols.clear();
  auto source = std::make_unique<fb::SourceT>();
  const std::string text(kBundleMaxNameBytes, 's');
  source->aten = source->module_path = source->file = text;
  method.sources.push_back(std::move(source));
  for (auto& node : method.nodes) node->source = 0;
  const BundleInfo info = described(parts);
  ASSERT_EQ(info.methods.size(), 1u);
  ASSERT_EQ(info.methods[0].nodes.size(), static_cast<size_t>(kCount));
  size_t bytes = 0;
  for (const NodeLine& node : info.methods[0].nodes)
    bytes += node.aten.size() + node.module_path.size() + node.source.size() + node.name.size();
  EXPECT_LT(bytes, 100u << 20);
  EXPECT_EQ(info.methods[0].nodes[0].module_path, text);
}

/// The part of a text that a terminal acts on, newlines aside.
bool acts_on_terminals(const std::string& text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f;
  });
}

TEST(HostileNames, DoNotReachTheTerminal) {
  const std::string name = "n\x1b]0;owned\x07\n  verdict: SOUND\n\x1b[31m";
  BundleParts parts = reshaped_by({fb::Term(0, 0, 0, 0, fb::TermOp::Symbol)});
  fb::MethodT& method = *parts.bundle.methods[0];
  parts.bundle.producer = method.name = name;
  method.symbols[0]->name = method.inputs[0]->name = method.outputs[0]->name = name;
  auto source = std::make_unique<fb::SourceT>();
  source->aten = source->module_path = source->file = name;
  method.sources.push_back(std::move(source));
  for (auto& node : method.nodes) node->source = 0;
  auto literal = std::make_unique<fb::LiteralT>();
  literal->name = name + "2";
  literal->position = 1;
  literal->dtype = fb::DType::Int64;
  method.literals.push_back(std::move(literal));
  auto pair = std::make_unique<fb::KeyValueT>();
  pair->key = pair->value = name;
  parts.bundle.info.push_back(std::move(pair));
  const BundleInfo info = described(parts);
  const std::string text = bundle_text(info, true);
  EXPECT_FALSE(acts_on_terminals(text)) << text;
  EXPECT_EQ(text.find("\n  verdict: SOUND"), std::string::npos) << text;
  EXPECT_EQ(bundle_json(info)["methods"][0]["name"], name) << "JSON escapes by itself";
}

/// Paths of modules that differ at each level, 3000 of them.
TEST(HostileModules, HaveAFewLevels) {
  MethodInfo method;
  method.values.resize(1);
  std::string path;
  for (int i = 0; i < 3000; ++i, path += "m.") {
    NodeLine node;
    node.op = "relu";
    node.module_path = path + "x";
    method.nodes.push_back(std::move(node));
  }
  size_t depth = 0;
  const ModuleCost root = module_costs(method);
  for (const ModuleCost* at = &root; !at->children.empty(); ++depth) {
    const auto deeper = [](const ModuleCost& a, const ModuleCost& b) { return a.nodes < b.nodes; };
    at = &*std::max_element(at->children.begin(), at->children.end(), deeper);
  }
  EXPECT_GT(depth, 32u);
  EXPECT_LE(depth, 64u);
  EXPECT_EQ(root.nodes, 3000u);
}

/// Found one by one these took the square of their number.
TEST(HostileModules, AreFoundByTheirNames) {
  MethodInfo method;
  method.values.resize(1);
  for (int i = 0; i < 200000; ++i) {
    NodeLine node;
    node.module_path = "m" + std::to_string(i);
    method.nodes.push_back(std::move(node));
  }
  EXPECT_EQ(module_costs(method).children.size(), 200000u);
}

}  // namespace
}  // namespace lazyrt
