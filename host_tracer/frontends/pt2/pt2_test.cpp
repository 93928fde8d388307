#include "host_tracer/frontends/pt2/pt2.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>

#include "host_tracer/frontends/pt2/signature.h"
#include "host_tracer/frontends/shared/trace_checks.h"
#include "host_tracer/record/trace_eval.h"

// The files come from pt2_fixtures.py, which ctest runs first.

namespace lazyrt {
namespace {

using test::count_calls;
using test::expect_close;
using test::has_finding;
using test::outputs_of;

std::string fixture(const std::string& name) {
  return std::string(LAZYRT_PT2_FIXTURES) + "/" + name + ".pt2";
}

std::string failure_of(const std::string& name, const Pt2Options& options = {}) {
  const auto trace = capture_pt2(fixture(name), options);
  return trace.ok() ? "" : trace.failure().text;
}

/// The captured trace, evaluated node by node, gives the eager outputs.
Trace check(const std::string& name, const Pt2Options& options = {}) {
  auto trace = capture_pt2(fixture(name), options);
  EXPECT_TRUE(trace.ok()) << trace.failure().text;
  if (!trace.ok()) return {};
  const std::vector<at::Tensor> got = outputs_of(*trace);
  for (size_t i = 0; i < got.size(); ++i) {
    if (trace->sample_outputs[i].dtype == DType::kNone) continue;
    expect_close(got[i], from_sample(trace->sample_outputs[i]), trace->outputs[i].name);
  }
  return *trace;
}

TEST(Pt2, Mlp) {
  const Trace trace = check("mlp");
  EXPECT_EQ(trace.producer.rfind("torch.export 2.", 0), 0u) << trace.producer;
  EXPECT_EQ(count_calls(trace, "aten::linear"), 3u);
  ASSERT_EQ(trace.inputs.size(), 1u);
  EXPECT_EQ(trace.values[static_cast<size_t>(trace.inputs[0])].name, "x");
  size_t weights = 0;
  for (const TraceValue& v : trace.values) {
    if (v.leaf == LeafKind::kParameter && v.shape == std::vector<int64_t>{8, 16}) ++weights;
    if (v.leaf == LeafKind::kBuffer) {
      EXPECT_EQ(v.name, "scale");
    }
  }
  EXPECT_EQ(weights, 1u) << "tied weights are one leaf";
}

TEST(Pt2, AnotherDefaultDtypeIsRefusedByName) {
  const std::string text = failure_of("double_by_default");
  EXPECT_NE(text.find("gives Float, the file says Double"), std::string::npos) << text;
  EXPECT_NE(text.find("pt2_fixtures.py"), std::string::npos) << text;
}

TEST(Pt2, NodesCarryTheUsersLines) {
  const Trace trace = check("mlp");
  for (const TraceNode& node : trace.nodes) {
    EXPECT_NE(node.source.file.find("pt2_fixtures.py"), std::string::npos) << node.source.text();
    EXPECT_GT(node.source.line, 0);
  }
  EXPECT_EQ(trace.nodes[0].source.module_path, "first");
  EXPECT_EQ(trace.nodes[0].source.aten, "aten::linear");
}

TEST(Pt2, GradModeBlocksAreInlined) {
  const Trace trace = check("mlp_with_gradients");
  EXPECT_EQ(count_calls(trace, "aten::relu"), 1u);
}

TEST(Pt2, NestedInputsInTheSignaturesOrder) {
  const Trace trace = check("nested_inputs");
  EXPECT_EQ(trace.inputs.size(), 4u);
}

TEST(Pt2, OutputsOfAllKinds) {
  const Trace trace = check("outputs_of_all_kinds");
  ASSERT_EQ(trace.outputs.size(), 7u);  // None is left out
  EXPECT_EQ(trace.outputs[0].value, trace.outputs[1].value);
  EXPECT_EQ(trace.outputs[2].value, trace.inputs[0]);
  using Literal = std::variant<bool, int64_t, double>;
  EXPECT_EQ(trace.outputs[3].literal, Literal(int64_t{3}));
  EXPECT_EQ(trace.outputs[4].literal, Literal(2.5));
  EXPECT_EQ(trace.outputs[5].literal, Literal(true));
  EXPECT_EQ(trace.outputs[6].literal, Literal(int64_t{4}));
}

TEST(Pt2, ConstantsAndSliceAssignment) {
  const Trace trace = check("constants");
  EXPECT_GE(count_calls(trace, "aten::arange"), 1u) << trace.text();
}

TEST(Pt2, RecurrentLayersStayWhole) {
  const Trace trace = check("recurrent");
  EXPECT_EQ(count_calls(trace, "aten::gru"), 1u);
  EXPECT_EQ(count_calls(trace, "aten::lstm"), 1u);
}

TEST(Pt2, Vision) { check("vision"); }

TEST(Pt2, DynamicDimsOnlyWhenAskedFor) {
  const std::string text = failure_of("dynamic");
  EXPECT_NE(text.find("input 'x': dim 0 (s"), std::string::npos) << text;
  EXPECT_NE(text.find("in 2..64)"), std::string::npos) << text;
  EXPECT_NE(text.find("--static"), std::string::npos);
  Pt2Options options;
  options.static_shapes = true;
  EXPECT_EQ(check("dynamic", options).sample_inputs[0].shape, (std::vector<int64_t>{3, 8}));
  options.inputs = {{"x", DType::kFloat32, {5, 8}, {}}};
  EXPECT_EQ(check("dynamic", options).sample_inputs[0].shape, (std::vector<int64_t>{5, 8}));
}

TEST(Pt2, DimsThatVaryAreTold) {
  std::optional<std::vector<Pt2Dim>> dims;
  Pt2Options options;
  options.static_shapes = true;
  options.dims = &dims;
  check("dynamic", options);
  ASSERT_TRUE(dims && dims->size() == 1);
  EXPECT_EQ(dim_text((*dims)[0]), "input 'x': dim 0 (" + (*dims)[0].root + " in 2..64)");
  check("sizes_in_relation", options);
  ASSERT_EQ(dims->size(), 3u);
  EXPECT_EQ((*dims)[1].multiple, 32);
  EXPECT_EQ((*dims)[1].min, 1);
  EXPECT_EQ((*dims)[1].max, 9);
  EXPECT_EQ((*dims)[2].root, (*dims)[0].root) << (*dims)[2].expression;
  EXPECT_EQ((*dims)[2].multiple, 1);
  EXPECT_EQ((*dims)[2].offset, 1);
  check("mlp", options);
  EXPECT_TRUE(dims && dims->empty());
}

TEST(Pt2, SizesThatBreakAGuardAreRefused) {
  Pt2Options options;
  options.static_shapes = true;
  options.inputs = {{"x", DType::kFloat32, {5, 4}, {}}};
  EXPECT_EQ(failure_of("guard_on_sizes", options), "");
  options.inputs = {{"x", DType::kFloat32, {5, 3}, {}}};
  const std::string text = failure_of("guard_on_sizes", options);
  EXPECT_NE(text.find("exported for sizes where "), std::string::npos) << text;
  EXPECT_NE(text.find("L['x'].size()"), std::string::npos) << text;
}

TEST(Pt2, GivenInputsReplaceTheSamples) {
  const std::vector<float> data(16, 0.25f);
  ConstantData bytes;
  bytes.data = reinterpret_cast<const uint8_t*>(data.data());
  bytes.bytes = data.size() * sizeof(float);
  Pt2Options options;
  options.inputs = {{"x", DType::kFloat32, {2, 8}, bytes}};
  const Trace trace = check("mlp", options);
  EXPECT_EQ(from_sample(trace.sample_inputs[0]).max().item<float>(), 0.25f);
}

TEST(Pt2, WrongInputsAreNamed) {
  Pt2Options options;
  options.inputs = {{"y", DType::kFloat32, {2, 8}, {}}};
  EXPECT_NE(failure_of("mlp", options).find("no input 'y'"), std::string::npos);
  options.inputs = {{"x", DType::kFloat32, {2, 9}, {}}};
  EXPECT_NE(failure_of("mlp", options).find("[2,8]"), std::string::npos);
  options.inputs = {{"x", DType::kInt64, {2, 8}, {}}};
  EXPECT_NE(failure_of("mlp", options).find("'x' is Long"), std::string::npos);
  const float one = 1;
  ConstantData bytes;
  bytes.data = reinterpret_cast<const uint8_t*>(&one);
  bytes.bytes = sizeof(one);
  options.inputs = {{"x", DType::kFloat32, {2, 8}, bytes}};
  EXPECT_NE(failure_of("mlp", options).find("4 bytes"), std::string::npos);
}

TEST(Pt2, ReportsProgress) {
  Pt2Options options;
  int64_t last = 0, total = 0;
  options.progress = [&](const char* stage, int64_t done, int64_t all) {
    if (std::string(stage) != "trace") return;
    EXPECT_EQ(done, last + 1);
    last = done;
    total = all;
  };
  check("mlp", options);
  EXPECT_GT(total, 4);
  EXPECT_EQ(last, total);
}

/// By the name of the buffer: what each state holds after a run on the sample.
std::map<std::string, at::Tensor> states_after_a_run(const Trace& trace) {
  const auto run = run_trace(trace, {from_sample(trace.sample_inputs[0])});
  EXPECT_TRUE(run.ok()) << run.failure().text;
  std::map<std::string, at::Tensor> states;
  for (size_t i = 0; run.ok() && i < run->states.size(); ++i) {
    states[trace.values[static_cast<size_t>(trace.states[i].leaf)].name] = run->states[i];
  }
  return states;
}

/// As the model was exported, with writes in its graph, and decomposed, with new values as outputs.
class Pt2State : public testing::TestWithParam<const char*> {
 protected:
  std::string fixture_name(const std::string& name) const { return name + GetParam(); }
};

TEST_P(Pt2State, AWrittenBufferIsStateThatTheSampleRunLeavesAlone) {
  const Trace trace = check(fixture_name("writes_buffer"));
  ASSERT_EQ(trace.states.size(), 1u);
  const TraceValue& leaf = trace.values[static_cast<size_t>(trace.states[0].leaf)];
  EXPECT_EQ(leaf.name, "count");
  const at::Tensor first = from_sample({leaf.dtype, leaf.shape, leaf.constant});
  EXPECT_EQ(first.abs().max().item<double>(), 0.0);
  EXPECT_TRUE(at::equal(states_after_a_run(trace).at("count"), at::ones({3})));
}

TEST_P(Pt2State, RunningStatisticsAreState) {
  const Trace trace = check(fixture_name("batch_norm_training"));
  const at::Tensor x = from_sample(trace.sample_inputs[0]);
  const auto states = states_after_a_run(trace);
  ASSERT_EQ(states.size(), 3u) << trace.text();
  EXPECT_TRUE(at::allclose(states.at("norm.running_mean"), x.mean(0) * 0.1));
  EXPECT_TRUE(at::allclose(states.at("norm.running_var"), x.var(0) * 0.1 + 0.9));
  EXPECT_EQ(states.at("norm.num_batches_tracked").item<int64_t>(), 1);
}

TEST_P(Pt2State, AWrittenInputIsFound) {
  EXPECT_TRUE(has_finding(check(fixture_name("writes_input")), "input-written"));
}

TEST_P(Pt2State, TrainingModeIsFound) {
  EXPECT_TRUE(has_finding(check(fixture_name("batch_norm_training")), "training-mode"));
}

INSTANTIATE_TEST_SUITE_P(Graphs, Pt2State, testing::Values("", "_decomposed"));

TEST(Pt2, AValueThatLeavesTheGraphIsNotedWithItsLine) {
  const auto trace = capture_pt2(fixture("number_result"), {});
  ASSERT_TRUE(trace.ok()) << trace.failure().text;
  ASSERT_FALSE(trace->syncs.empty());
  EXPECT_NE(trace->syncs[0].source.file.find("pt2_fixtures.py"), std::string::npos);
  EXPECT_NE(verdict_of(*trace), Verdict::kSound);
}

TEST(Pt2, ComplexNumbersAreHalvesInTheGraph) {
  const auto trace = capture_pt2(fixture("complex_numbers"), {});
  ASSERT_TRUE(trace.ok()) << trace.failure().text;
  EXPECT_EQ(verdict_of(*trace), Verdict::kSound) << trace->text();
}

TEST(Pt2, NumbersStayInTheGraph) {
  const auto trace = capture_pt2(fixture("item"), {});
  ASSERT_TRUE(trace.ok()) << trace.failure().text;
  EXPECT_EQ(verdict_of(*trace), Verdict::kSound) << trace->text();
  EXPECT_TRUE(trace->syncs.empty());
  const at::Tensor x = at::randn({3});
  const auto out = evaluate_trace(*trace, {x});
  ASSERT_TRUE(out.ok()) << out.failure().text;
  EXPECT_TRUE(at::allclose((*out)[0], x * x.sum()));
}

TEST(Pt2, TorchCheckIsACheck) {
  const auto trace = capture_pt2(fixture("checked_item"), {});
  ASSERT_TRUE(trace.ok()) << trace.failure().text;
  EXPECT_EQ(verdict_of(*trace), Verdict::kSound) << trace->text();
  ASSERT_FALSE(trace->guards.empty()) << trace->text();
  const at::Tensor x = at::randn({3});
  for (const int64_t n : {3, 9, 10}) {
    const auto run = run_trace(*trace, {x, at::tensor(n)});
    ASSERT_TRUE(run.ok()) << run.failure().text;
    EXPECT_EQ(guards_hold(*trace, run->guards), n < 10);
    EXPECT_TRUE(at::allclose(run->outputs[0], x * (2 * n + 1)));
  }
}

struct Refusal {
  const char* file;
  const char* text;
};

class Pt2Refuses : public testing::TestWithParam<Refusal> {};

TEST_P(Pt2Refuses, ByName) {
  const std::string text = failure_of(GetParam().file);
  EXPECT_NE(text.find(GetParam().text), std::string::npos) << "got: " << text;
}

INSTANTIATE_TEST_SUITE_P(Programs, Pt2Refuses,
                         testing::Values(Refusal{"cond", "torch.ops.higher_order.cond"},
                                         Refusal{"complex_result", "view_as_real"},
                                         Refusal{"unknown_operator",
                                                 "torch.ops.mylib.squash.default"}));

INSTANTIATE_TEST_SUITE_P(
    Files, Pt2Refuses,
    testing::Values(
        Refusal{"not_there", "no such file"}, Refusal{"text", "not a zip archive"},
        Refusal{"truncated", "damaged"}, Refusal{"missing_weight", "weight_0"},
        Refusal{"missing_samples", "--input x=FILE.npy"}, Refusal{"future_version", "version 99"},
        Refusal{"broken_json", "not a valid exported program"}, Refusal{"wrong_json", "no outputs"},
        Refusal{"short_weight", "elements, the file holds"}, Refusal{"odd_dtype", "COMPLEXHALF"},
        Refusal{"two_programs", "several programs, 'encoder', 'decoder'"},
        Refusal{"checkpoint", "torch.save checkpoint"}, Refusal{"torchscript", "TorchScript"}));

TEST(Pt2, FolderIsNoFile) {
  const auto trace = capture_pt2(LAZYRT_PT2_FIXTURES, {});
  ASSERT_FALSE(trace.ok());
  EXPECT_NE(trace.failure().text.find("not a regular file"), std::string::npos);
}

/// Any damage gives an error or, where the zip's checksum does not reach, a trace; never a crash.
TEST(Pt2, FlippedBytesNeverCrash) {
  std::ifstream in(fixture("mlp"), std::ios::binary);
  const std::string good((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  ASSERT_FALSE(good.empty());
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto path =
      std::filesystem::temp_directory_path() / ("lazyrt_pt2_flip_" + std::to_string(seed) + ".pt2");
  Pt2Options options;
  options.sample_outputs = false;
  int refused = 0;
  for (int i = 0; i < 60; ++i) {
    std::string bad = good;
    for (int k = 0; k < 3; ++k)
      bad[random() % bad.size()] ^= static_cast<char>(1 << (random() % 8));
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bad;
    if (!capture_pt2(path.string(), options).ok()) ++refused;
  }
  std::filesystem::remove(path);
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace lazyrt
