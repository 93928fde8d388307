#include "host_tracer/emit/bundle_writer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "host_tracer/emit/metadata.h"
#include "host_tracer/passes/pipeline.h"
#include "host_tracer/passes/test_graph.h"
#include "host_tracer/support/partial_file.h"
#include "host_tracer/support/printable.h"
#include "schema/bundle_file.h"
#include "tests/support/reflect.h"

namespace lazyrt {
namespace {

using fb::BinaryFn;
using fb::UnaryFn;

class BundleWriter : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("lazyrt_emit_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name = "m.lzb") const { return (folder_ / name).string(); }

  Outcome<EmitReport> write(Graph graph, const std::string& name = "m.lzb",
                            const EmitOptions& options = {}) const {
    graph.compact();
    return write_bundle(graph, plan_memory(graph), options, path(name));
  }

  std::string bytes_of(const std::string& name) const {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::filesystem::path folder_;
};

SampleTensor sample(const HostTensor& t) {
  return {t.dtype, std::vector<int64_t>(t.shape.begin(), t.shape.end()), t.constant_data()};
}

/// Adds sample inputs, and the outputs that the graph itself gives.
void add_samples(Graph& g) {
  std::mt19937 random(3);
  std::vector<HostTensor> inputs;
  for (ValueId id : g.inputs()) {
    inputs.push_back(random_tensor(g.value(id).dtype, g.value(id).shape, random));
    g.sample_inputs.push_back(sample(inputs.back()));
  }
  auto outputs = evaluate(g, inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.failure().text;
  for (const HostTensor& t : *outputs) g.sample_outputs.push_back(sample(t));
}

/// A small network: conv, batch norm, residual, pooled head, tied weights.
TestGraph network() {
  TestGraph t;
  const ValueId x = t.input({2, 3, 6, 6});
  ValueId y = t.unary(UnaryFn::Relu, t.batch_norm(t.conv(x, 4, 3)));
  y = t.binary(BinaryFn::Add, y, t.unary(UnaryFn::Tanh, t.conv(y, 4, 1, true)));
  const ValueId pooled = t.mean(y, {2, 3}, false);
  const ValueId w = t.weight({300, 4}, "tied");
  const Value copy = t.g.value(w);
  const ValueId w2 = t.g.add_constant("tied_again", copy.dtype, copy.shape, copy.constant.data);
  t.output(t.node(fb::LinearT(), {pooled, w, kNoValue}));
  t.output(t.node(fb::LinearT(), {pooled, w2, kNoValue}));
  t.output(y);
  t.output(x);
  t.g.outputs().push_back({"count", kNoValue, int64_t{7}});
  add_samples(t.g);
  return t;
}

void expect_equal(const TensorView& a, const TensorView& b, double tolerance) {
  ASSERT_EQ(a.dtype, b.dtype);
  ASSERT_TRUE(a.shape == b.shape);
  for (int64_t i = 0; i < a.numel(); ++i) {
    ASSERT_NEAR(read_element(a.dtype, a.data, i), read_element(b.dtype, b.data, i), tolerance);
  }
}

/// Loads the bundle, runs its sample, compares with the sample's outputs.
void expect_runs(const std::string& path, const Backend* backend, double tolerance) {
  LoadOptions load;
  load.check_data = true;
  auto program = Program::open(path.c_str(), default_ops(), load);
  ASSERT_TRUE(program.ok()) << program.status().message();
  auto method = program->method("forward");
  ASSERT_TRUE(method.ok());
  SessionOptions options;
  options.backend = backend;
  auto session = Session::create(*method, options);
  ASSERT_TRUE(session.ok()) << session.status().message();
  for (size_t i = 0; i < method->input_count(); ++i) {
    ASSERT_TRUE(session->set_input(i, method->sample_input(0, i)).ok());
  }
  for (int round = 0; round < 2; ++round) {
    const Status status = session->run();
    ASSERT_TRUE(status.ok()) << status.message();
    for (size_t i = 0; i < method->output_count(); ++i) {
      auto y = session->output(i);
      ASSERT_TRUE(y.ok());
      expect_equal(*y, method->sample_output(0, i), tolerance);
    }
  }
}

TEST_F(BundleWriter, RunsAndGivesTheNumbersOfTheGraph) {
  TestGraph t = network();
  ASSERT_TRUE(write(t.g).ok());
  expect_runs(path(), reference_backend(), 1e-6);
  ASSERT_TRUE(run_pipeline(t.g, default_pipeline()).ok());
  ASSERT_TRUE(write(t.g).ok());
  expect_runs(path(), reference_backend(), 1e-4);
  expect_runs(path(), cpu_backend(), 1e-4);
}

TEST_F(BundleWriter, Interface) {
  TestGraph t = network();
  EmitOptions options;
  options.relative = 0.5f;
  ASSERT_TRUE(write(t.g, "m.lzb", options).ok());
  auto program = Program::open(path().c_str(), default_ops());
  ASSERT_TRUE(program.ok());
  const Method m = program->method(size_t{0});
  EXPECT_STREQ(m.input(0).name, "x0");
  ASSERT_EQ(m.output_count(), 4u);
  EXPECT_STREQ(m.output(3).name, "y3");
  ASSERT_EQ(m.literal_count(), 1u);
  EXPECT_STREQ(m.literal(0).name, "count");
  EXPECT_EQ(m.literal(0).position, 4u);
  EXPECT_EQ(m.literal(0).integer, 7);
  EXPECT_EQ(m.sample_count(), 1u);
}

/// The network with a guard on its pooled mean and a state that counts.
TestGraph guarded_network() {
  TestGraph t = network();
  const float first[1] = {5};
  const ValueId n =
      t.g.add_state("count", DType::kFloat32, {1},
                    t.g.value(t.g.add_constant("", DType::kFloat32, {1}, first)).constant);
  t.g.states()[0].next = t.binary(BinaryFn::Add, n, t.scalar(1));
  const ValueId zero = t.g.add_state(
      "zero", DType::kFloat32, {3},
      t.g.value(t.g.add_constant("", DType::kFloat32, {3}, std::vector<float>(3).data())).constant);
  t.g.states()[1].next = t.unary(UnaryFn::Exp, zero);
  const ValueId mean = t.mean(t.g.inputs()[0], {0, 1, 2, 3}, false);
  auto inputs = t.g.sample_inputs[0].data;
  double sum = 0;
  for (int64_t i = 0; i < 2 * 3 * 6 * 6; ++i) sum += read_element(DType::kFloat32, inputs.data, i);
  t.g.guards().push_back({mean, sum / (2 * 3 * 6 * 6), "x.mean().item()", {"", "model.py", 3, ""}});
  return t;
}

TEST_F(BundleWriter, GuardsAndStatesRun) {
  TestGraph t = guarded_network();
  ASSERT_TRUE(run_pipeline(t.g, default_pipeline()).ok());
  ASSERT_TRUE(write(t.g).ok());
  expect_runs(path(), reference_backend(), 1e-4);
  expect_runs(path(), cpu_backend(), 1e-4);
  auto program = Program::open(path().c_str(), default_ops());
  ASSERT_TRUE(program.ok()) << program.status().message();
  const Method m = program->method(size_t{0});
  ASSERT_EQ(m.guard_count(), 1u);
  EXPECT_STREQ(m.guard(0).file, "model.py");
  EXPECT_EQ(m.guard(0).dtype, DType::kFloat64);
  EXPECT_GT(m.guard(0).tolerance, 0);
  ASSERT_EQ(m.state_count(), 2u);
  EXPECT_STREQ(m.state(1).name, "zero");
}

TEST_F(BundleWriter, AReturnedStateNeedsItsPass) {
  TestGraph t = guarded_network();
  t.g.outputs().push_back({"h", t.g.states()[0].value, std::nullopt});
  auto report = write(t.g);
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.failure().text.find("separate_states"), std::string::npos);
}

TEST_F(BundleWriter, VariantsShareConstantsAndKeepTheirSamples) {
  TestGraph a = guarded_network(), b = guarded_network();
  b.g.guards()[0].seen = 1e9;
  for (TestGraph* t : {&a, &b}) ASSERT_TRUE(run_pipeline(t->g, default_pipeline()).ok());
  const MemoryPlan plan_a = plan_memory(a.g), plan_b = plan_memory(b.g);
  auto one = write_bundle(a.g, plan_a, {}, path("one.lzb"));
  ASSERT_TRUE(one.ok());
  const SamplePair again = {a.g.sample_inputs, a.g.sample_outputs};
  auto both = write_bundle({{b.g, plan_b, {}}, {a.g, plan_a, {again}}}, {}, path("both.lzb"));
  ASSERT_TRUE(both.ok()) << both.failure().text;
  EXPECT_EQ(both->constants_bytes, one->constants_bytes);
  EXPECT_EQ(both->samples_bytes, one->samples_bytes);
  auto program = Program::open(path("both.lzb").c_str(), default_ops());
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_EQ(program->method(size_t{0}).variant_count(), 2u);
  EXPECT_EQ(program->method(size_t{0}).sample_count(), 3u);
  expect_runs(path("both.lzb"), cpu_backend(), 1e-4);
}

TEST_F(BundleWriter, SameBytesAgain) {
  ASSERT_TRUE(write(network().g, "a.lzb").ok());
  ASSERT_TRUE(write(network().g, "b.lzb").ok());
  EXPECT_EQ(bytes_of("a.lzb"), bytes_of("b.lzb"));
  EXPECT_GT(bytes_of("a.lzb").size(), 0u);
}

TEST_F(BundleWriter, EqualConstantsAreStoredOnce) {
  auto report = write(network().g);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->shared_bytes, 300u * 4 * 4);
  EXPECT_EQ(report->file_bytes, std::filesystem::file_size(path()));
}

TEST_F(BundleWriter, WithoutSamples) {
  EmitOptions options;
  options.strip_samples = true;
  auto report = write(network().g, "m.lzb", options);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->samples_bytes, 0u);
  auto program = Program::open(path().c_str(), default_ops());
  ASSERT_TRUE(program.ok());
  EXPECT_EQ(program->method(size_t{0}).sample_count(), 0u);
}

TEST_F(BundleWriter, LayoutOfTheFile) {
  ASSERT_TRUE(write(network().g).ok());
  const std::string bytes = bytes_of("m.lzb");
  BundleProlog p;
  std::memcpy(&p, bytes.data(), sizeof(p));
  EXPECT_EQ(p.file_bytes, bytes.size());
  EXPECT_EQ(p.constants_offset % 64, 0u);
  EXPECT_EQ(p.samples_offset % 4096, 0u);
  EXPECT_EQ(p.data_checksum,
            Checksum64::of(bytes.data() + p.constants_offset, bytes.size() - p.constants_offset));
}

TEST_F(BundleWriter, EmptyAndSmallThings) {
  TestGraph t;
  const ValueId x = t.input({0, 3});
  t.output(t.unary(UnaryFn::Exp, x));
  t.output(add_elements(t.g, "none", DType::kFloat32, {0}, {}));
  t.output(t.scalar(5));
  add_samples(t.g);
  ASSERT_TRUE(write(t.g).ok());
  expect_runs(path(), reference_backend(), 0);
}

TEST_F(BundleWriter, NamesAreMadeUnique) {
  TestGraph t;
  const ValueId x = t.input({1});
  t.g.value(x).name = "";
  t.g.outputs().push_back({"y", x, std::nullopt});
  t.g.outputs().push_back({"y", x, std::nullopt});
  t.g.outputs().push_back({"", kNoValue, true});
  ASSERT_TRUE(write(t.g).ok());
  auto program = Program::open(path().c_str(), default_ops());
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_STREQ(program->method(size_t{0}).input(0).name, "input_0");
  EXPECT_STREQ(program->method(size_t{0}).output(1).name, "y_1");
  EXPECT_STREQ(program->method(size_t{0}).literal(0).name, "output_2");
}

/// Most bytes of any text in a file, by what holds it: "methods.inputs.name".
std::map<std::string, size_t> longest_texts(std::string bytes) {
  BundleProlog p;
  std::memcpy(&p, bytes.data(), sizeof(p));
  auto* metadata = reinterpret_cast<uint8_t*>(bytes.data() + p.metadata_offset);
  std::map<std::string, size_t> longest;
  const auto* root = flatbuffers::GetRoot<uint8_t>(metadata);
  test::visit_fields(const_cast<uint8_t*>(root), fb::BundleTypeTable(), [&](const auto& field) {
    if (field.type != flatbuffers::ET_STRING) return;
    const uint8_t* at = field.where + flatbuffers::ReadScalar<uint32_t>(field.where);
    size_t& most = longest[field.path];
    most = std::max<size_t>(most, flatbuffers::ReadScalar<uint32_t>(at));
  });
  return longest;
}

/// guarded_network with a megabyte for each text that a model may choose.
TestGraph network_of_long_texts(const std::string& text) {
  TestGraph t = guarded_network();
  Graph& g = t.g;
  for (ValueId id = 0; id < static_cast<ValueId>(g.value_count()); ++id) {
    if (!g.value(id).name.empty()) g.value(id).name = text + g.value(id).name;
  }
  for (GraphOutput& output : g.outputs()) output.name = text + output.name;
  for (Node& node : g.take_nodes()) {
    node.source = {text, "net/" + text + "/model.py", 3, text};
    g.append(std::move(node));
  }
  g.guards()[0].text = text;
  g.guards()[0].source.file = text + "/guards.py";
  return t;
}

TEST_F(BundleWriter, TextsThatReadersRefuseAreShortened) {
  std::string text;
  while (text.size() < (1u << 20)) text += "\u00e9\u20ac";
  TestGraph t = network_of_long_texts(text);
  EmitOptions options;
  options.producer = text;
  options.method = text;
  options.info = {{"note", text}, {text, "value"}};
  ASSERT_TRUE(write(t.g, "m.lzb", options).ok());
  const auto longest = longest_texts(bytes_of("m.lzb"));
  EXPECT_EQ(longest.size(), 13u) << "each text of the schema that this bundle has";
  const std::set<std::string> interface = {"methods.inputs.name", "methods.outputs.name",
                                           "methods.literals.name", "methods.states.name",
                                           "methods.name"};
  for (const auto& [path, bytes] : longest) {
    if (path.rfind("info.", 0) == 0) continue;
    const size_t most = path == "methods.guards.text" ? kBundleMaxTextBytes
                        : interface.count(path) == 1  ? 1000
                                                      : kBundleMaxNameBytes;
    EXPECT_LE(bytes, most) << path;
    EXPECT_GT(bytes, most - 40) << path;
  }
  auto program = Program::open(path().c_str(), default_ops());
  ASSERT_TRUE(program.ok()) << program.status().message();
  const Method m = program->method(size_t{0});
  const std::string file = m.guard(0).file;
  EXPECT_EQ(file.substr(0, 3), "...");
  EXPECT_EQ(file.substr(file.size() - 10), "/guards.py") << "the end of a file's name stays";
  EXPECT_EQ(std::string(m.guard(0).text).substr(0, 5), text.substr(0, 5)) << "else the beginning";
  std::set<std::string> names;
  for (size_t i = 0; i < m.output_count(); ++i) names.insert(m.output(i).name);
  EXPECT_EQ(names.size(), m.output_count()) << "outputs keep different names";
  for (const std::string& name : names) EXPECT_EQ(printable(name), name) << "UTF-8";
}

TEST_F(BundleWriter, InfoKeepsItsLength) {
  EmitOptions options;
  options.info = {{"lazyrt.interface", std::string(1 << 20, 'i')}};
  ASSERT_TRUE(write(network().g, "m.lzb", options).ok());
  auto program = Program::open(path().c_str(), default_ops());
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_EQ(program->info(0).value, options.info[0].second) << "programs read it";
}

TEST_F(BundleWriter, IsNotWrittenThroughALink) {
  std::ofstream(path("precious")) << "precious";
  std::filesystem::create_symlink(path("precious"), PartialFile::path_for(path()));
  ASSERT_TRUE(write(network().g).ok());
  EXPECT_EQ(bytes_of("precious"), "precious");
  EXPECT_TRUE(Program::open(path().c_str(), default_ops()).ok());
}

TEST_F(BundleWriter, SampleOfAnotherTypeIsRefused) {
  TestGraph t = network();
  t.g.sample_outputs[0].dtype = DType::kInt32;
  auto report = write(t.g);
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.failure().text.find("\"y0\" is i32[2,300], the graph has f32[2,300]"),
            std::string::npos)
      << report.failure().text;
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(BundleWriter, FailureLeavesNothingAndNamesTheFile) {
  auto report = write(network().g, "no_such_folder/m.lzb");
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.failure().error, Error::kIo);
  EXPECT_NE(report.failure().text.find("no_such_folder"), std::string::npos);
  std::filesystem::create_directories(folder_ / "taken.lzb" / "inside");
  EXPECT_FALSE(write(network().g, "taken.lzb").ok());
  size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_)) {
    files += entry.is_regular_file() ? 1 : 0;
  }
  EXPECT_EQ(files, 0u);
}

TEST(PortablePath, LeavesOutTheMachine) {
  EXPECT_EQ(portable_path("/home/me/env/lib/python3/site-packages/timm/models/vit.py"),
            "timm/models/vit.py");
  EXPECT_EQ(portable_path("/home/me/project/net/model.py"), "net/model.py");
  EXPECT_EQ(portable_path("/model.py"), "model.py");
  EXPECT_EQ(portable_path("net/model.py"), "net/model.py");
  EXPECT_EQ(portable_path(""), "");
}

}  // namespace
}  // namespace lazyrt
