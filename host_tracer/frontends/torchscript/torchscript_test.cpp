#include "host_tracer/frontends/torchscript/torchscript.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include "host_tracer/compile/trace_groups.h"
#include "host_tracer/frontends/shared/model_kind.h"
#include "host_tracer/frontends/shared/trace_checks.h"

// The files come from torchscript_fixtures.py, which ctest runs first.

namespace lazyrt {
namespace {

using test::count_calls;
using test::expect_close;
using test::has_finding;
using test::outputs_of;

std::string fixture(const std::string& name) {
  return std::string(LAZYRT_TORCHSCRIPT_FIXTURES) + "/" + name + ".pt";
}

/// Inputs ("in.x") and Python's outputs ("out.0") of a fixture.
std::map<std::string, at::Tensor> io_of(const std::string& name) {
  std::map<std::string, at::Tensor> tensors;
  const auto box = torch::jit::load(fixture(name + ".io"));
  for (const auto& entry : box.attr("tensors").toGenericDict()) {
    tensors[entry.key().toStringRef()] = entry.value().toTensor();
  }
  return tensors;
}

TorchScriptOptions options_of(const std::string& name) {
  TorchScriptOptions options;
  for (const auto& [key, tensor] : io_of(name)) {
    if (!key.starts_with("in.")) continue;
    const SampleTensor sample = to_sample(tensor);
    options.inputs.push_back({key.substr(3), sample.dtype, sample.shape, sample.data, {}});
  }
  return options;
}

/// Of a program without phases.
Outcome<Trace> capture(const std::string& name, const TorchScriptOptions& options) {
  auto traces = capture_torchscript(fixture(name), options);
  if (!traces.ok()) return traces.failure();
  EXPECT_EQ(traces->size(), 1u) << name;
  return std::move(traces->front());
}

std::string failure_of(const std::string& name, const TorchScriptOptions& options) {
  const auto trace = capture(name, options);
  return trace.ok() ? "" : trace.failure().text;
}

std::string failure_of(const std::string& name) { return failure_of(name, options_of(name)); }

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The captured trace, evaluated node by node, and our eager run give Python's outputs by name.
Trace check(const std::string& name, const TorchScriptOptions& options) {
  auto trace = capture(name, options);
  EXPECT_TRUE(trace.ok()) << trace.failure().text;
  if (!trace.ok()) return {};
  const std::vector<at::Tensor> got = outputs_of(*trace);
  auto want = io_of(name);
  std::erase_if(want, [](const auto& item) { return item.first.starts_with("in."); });
  for (size_t i = 0; i < got.size(); ++i) {
    if (trace->outputs[i].literal) continue;
    const auto it = want.find(trace->outputs[i].name);
    if (it == want.end()) {
      ADD_FAILURE() << "unexpected output " << trace->outputs[i].name;
      continue;
    }
    expect_close(got[i], it->second, it->first);
    expect_close(from_sample(trace->sample_outputs[i]), it->second, it->first + ", eager");
    want.erase(it);
  }
  for (const auto& [missing, tensor] : want) ADD_FAILURE() << "no output " << missing;
  return *trace;
}

Trace check(const std::string& name) { return check(name, options_of(name)); }

TEST(TorchScript, TracedCnn) {
  const Trace trace = check("traced_cnn");
  EXPECT_EQ(count_calls(trace, "aten::convolution"), 2u) << trace.text();
  ASSERT_EQ(trace.outputs.size(), 1u);
  EXPECT_EQ(trace.outputs[0].name, "out");
  EXPECT_EQ(trace.values[static_cast<size_t>(trace.inputs[0])].name, "image");
  std::vector<std::string> names;
  for (const TraceValue& v : trace.values) {
    if (v.leaf == LeafKind::kParameter || v.leaf == LeafKind::kBuffer) names.push_back(v.name);
  }
  EXPECT_TRUE(std::count(names.begin(), names.end(), "conv.weight"));
  EXPECT_TRUE(std::count(names.begin(), names.end(), "norm.running_mean"));
}

TEST(TorchScript, NodesKnowModuleAndLine) {
  for (const char* name : {"traced_cnn", "scripted_cnn"}) {
    const Trace trace = check(name);
    for (const TraceNode& node : trace.nodes) {
      if (node.op != "aten::convolution" && node.op != "aten::linear") continue;
      EXPECT_TRUE(has(node.source.file, "torchscript_fixtures.py")) << name << node.source.text();
      EXPECT_GT(node.source.line, 50);
      EXPECT_FALSE(node.source.module_path.empty()) << name << " " << node.op;
    }
  }
}

TEST(TorchScript, LoopsListsAndOptionalArguments) {
  const Trace trace = check("loops");
  EXPECT_EQ(count_calls(trace, "aten::linear"), 4u);
  EXPECT_TRUE(std::any_of(trace.notes.begin(), trace.notes.end(),
                          [](const std::string& note) { return has(note, "prim::Print"); }));
}

TEST(TorchScript, NumbersAreGivenByName) {
  TorchScriptOptions options = options_of("loops_with_all_arguments");
  GivenInput steps;
  steps.name = "steps";
  steps.number = int64_t{4};
  options.inputs.push_back(steps);
  const Trace trace = check("loops_with_all_arguments", options);
  EXPECT_EQ(count_calls(trace, "aten::linear"), 8u);
  EXPECT_TRUE(std::any_of(trace.notes.begin(), trace.notes.end(),
                          [](const std::string& note) { return has(note, "fixed at 4"); }));
}

TEST(TorchScript, Recurrent) {
  EXPECT_EQ(count_calls(check("scripted_lstm"), "aten::lstm"), 1u);
  EXPECT_EQ(count_calls(check("scripted_gru"), "aten::gru"), 1u);
  EXPECT_EQ(count_calls(check("traced_gru"), "aten::gru"), 1u);
  check("cell_loop");
}

TEST(TorchScript, NestedInputsAndOutputs) {
  const Trace trace = check("nested");
  std::vector<std::string> names;
  for (const TraceOutput& out : trace.outputs) names.push_back(out.name);
  EXPECT_EQ(names, (std::vector<std::string>{"out.0.logits", "out.0.states.0", "out.0.states.1",
                                             "out.1.sum", "out.1.first", "out.2.0", "out.2.1",
                                             "out.2.2", "out.3"}));
  EXPECT_EQ(trace.outputs[6].literal, SeenNumber(int64_t{7}));
  EXPECT_EQ(trace.outputs[7].literal, SeenNumber(true));
}

TEST(TorchScript, TheNestingIsToldForReaders) {
  TorchScriptOptions options = options_of("nested");
  std::string interface;
  options.interface = &interface;
  ASSERT_TRUE(capture("nested", options).ok());
  for (
      const char* part :
      {R"("parameters":[{"name":"pair","kind":"either","item":{"kind":"tuple","items":[{"kind":"tensor","name":"pair.0"})",
       R"("item":{"kind":"dict","keys":["left","right"])", R"("type":"Result")",
       R"("keys":["logits","states"])", R"({"kind":"value","value":7,"name":"out)"}) {
    EXPECT_TRUE(has(interface, part)) << part << " in " << interface;
  }
}

TEST(TorchScript, WhatIsAskedIsDemandedWhateverItDoes) {
  TorchScriptOptions options = options_of("asks_for_modes");
  std::string interface;
  options.interface = &interface;
  const auto trace = capture("asks_for_modes", options);
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(verdict_of(*trace), Verdict::kSound);
  EXPECT_TRUE(has(interface, R"("strides":["x"])") && has(interface, R"("no_grad":true)"))
      << interface;
  EXPECT_TRUE(std::any_of(trace->notes.begin(), trace->notes.end(), [](const std::string& note) {
    return has(note, "torchscript_fixtures.py:") && has(note, "torch.no_grad()");
  }));
}

TEST(TorchScript, WithoutAnInterfaceNobodyChecksTheMode) {
  const auto trace = capture("asks_for_modes", options_of("asks_for_modes"));
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(verdict_of(*trace), Verdict::kBroken);
  EXPECT_TRUE(has_finding(*trace, "gradient-mode"));
}

TEST(TorchScript, BranchesThatDependOnNoValue) {
  const Trace trace = check("branches");
  EXPECT_EQ(verdict_of(trace), Verdict::kSound);
}

TEST(TorchScript, ALoopThatDependsOnValuesIsGuarded) {
  const Trace trace = check("while_loop");
  EXPECT_EQ(verdict_of(trace), Verdict::kSpecialized);
  ASSERT_GE(trace.guards.size(), 2u) << "one each time round";
  EXPECT_EQ(trace.guards.front().seen, SeenNumber(true));
  EXPECT_EQ(trace.guards.back().seen, SeenNumber(false));
  for (const TraceGuard& guard : trace.guards) {
    EXPECT_TRUE(has(guard.source.file, "torchscript_fixtures.py")) << guard.text;
    EXPECT_GT(guard.source.line, 0);
  }
}

TEST(TorchScript, AValueThatGoesBackIntoTheGraphBreaksIt) {
  const auto trace = capture("smuggles", options_of("smuggles"));
  ASSERT_TRUE(trace.ok()) << trace.failure().text;
  EXPECT_EQ(verdict_of(*trace), Verdict::kBroken);
  TorchScriptOptions options = options_of("smuggles");
  for (const Finding& finding : trace->findings) {
    if (finding.severity != Severity::kError) continue;
    EXPECT_TRUE(has(finding.source.text(), "torchscript_fixtures.py")) << finding.message;
    options.allow.push_back(finding.id);
  }
  const auto allowed = capture("smuggles", options);
  ASSERT_TRUE(allowed.ok()) << allowed.failure().text;
  EXPECT_EQ(verdict_of(*allowed), Verdict::kAllowed);
}

TEST(TorchScript, NumbersStayInTheGraph) {
  const Trace trace = check("numbers");
  EXPECT_EQ(verdict_of(trace), Verdict::kSpecialized) << trace.text();
  size_t truths = 0;
  for (const TraceGuard& guard : trace.guards) {
    truths += std::holds_alternative<bool>(guard.seen) && !guard.check ? 1 : 0;
  }
  EXPECT_EQ(truths, 2u) << "k > 2 and k < 4: " << trace.text();
  EXPECT_EQ(trace.guards.size(), 4u) << "a slice is exact, a divisor is checked: " << trace.text();
  EXPECT_TRUE(trace.findings.empty());
}

TEST(TorchScript, AssertionsAreChecks) {
  const Trace trace = check("asserts");
  EXPECT_EQ(verdict_of(trace), Verdict::kSound) << trace.text();
  EXPECT_EQ(trace.guards.size(), 2u) << trace.text();
}

TEST(TorchScript, ANumberAmongTheOutputsThatDependsOnInputsIsGuarded) {
  const auto trace = capture("counts_steps", options_of("counts_steps"));
  ASSERT_TRUE(trace.ok()) << trace.failure().text;
  EXPECT_EQ(verdict_of(*trace), Verdict::kSpecialized);
  ASSERT_EQ(trace->guards.size(), 1u) << trace->text();
  EXPECT_EQ(trace->guards[0].seen, *trace->outputs.at(1).literal);
  EXPECT_TRUE(has(trace->guards[0].source.text(), "torchscript_fixtures.py"));
}

TEST(TorchScript, WrittenBuffersAreState) {
  const Trace trace = check("counter");
  std::vector<std::string> names;
  for (const TraceState& state : trace.states) {
    names.push_back(trace.values[static_cast<size_t>(state.leaf)].name);
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"last", "sum"}));
}

TEST(TorchScript, AnAttributeWrittenBeforeItIsRead) { check("scratch"); }

TEST(TorchScript, WhatOneSampleAsksAndAnotherChangesIsNoted) {
  TorchScriptOptions options = options_of("enrolled");
  const auto counts = capture("enrolled", options);
  ASSERT_TRUE(counts.ok()) << counts.failure().text;
  EXPECT_EQ(counts->only_set, std::vector<std::string>{"seen"});
  for (GivenInput& input : options.inputs) {
    if (input.name == "enrol") input.data = to_sample(at::zeros({}, at::kBool)).data;
  }
  const auto asks = capture("enrolled", options);
  ASSERT_TRUE(asks.ok()) << asks.failure().text;
  EXPECT_TRUE(std::any_of(asks->asked.begin(), asks->asked.end(),
                          [](const AskedConstant& asked) { return asked.name == "seen"; }));
}

TEST(TorchScript, WhatOneSampleMakesOneTensorAndAnotherWritesIsRefused) {
  TorchScriptOptions options = options_of("fires");
  std::vector<Trace> traces;
  for (const bool start : {true, false}) {
    for (GivenInput& input : options.inputs) {
      if (input.name == "start") input.data = to_sample(at::full({}, start, at::kBool)).data;
    }
    auto trace = capture("fires", options);
    ASSERT_TRUE(trace.ok()) << trace.failure().text;
    traces.push_back(std::move(*trace));
  }
  EXPECT_EQ(traces[0].made_one, (std::vector<std::string>{"mem", "rest"}));
  EXPECT_EQ(traces[1].written_in_place, (std::vector<std::string>{"mem"}));
  const auto shared = share_states(traces);
  ASSERT_FALSE(shared.ok());
  EXPECT_TRUE(has(shared.failure().text, "'mem' the same tensor as another"))
      << shared.failure().text;
}

TEST(TorchScript, AGrowingBufferIsRefused) {
  const std::string text = failure_of("growing_cache");
  EXPECT_TRUE(has(text, "'cache' (float32[17, 3] after 16 calls)")) << text;
}

/// "0>1 1>1; state, tail": the phases, and what is state in any of them.
std::string phases_of(const std::vector<Trace>& traces) {
  std::string text;
  std::set<std::string> names;
  for (const Trace& trace : traces) {
    if (!phase_of(trace)) continue;
    for (const TraceState& state : trace.states) {
      const TraceValue& leaf = trace.values[static_cast<size_t>(state.leaf)];
      if (leaf.name != kPhaseState) {
        names.insert(leaf.name);
        continue;
      }
      const ConstantData& next = trace.values[static_cast<size_t>(state.next)].constant;
      int64_t number = 0;
      std::memcpy(&number, next.data, sizeof number);
      text += std::to_string(*phase_of(trace)) + ">" + std::to_string(number) + " ";
    }
  }
  for (const std::string& name : names) text += name + " ";
  return text;
}

TEST(TorchScript, AttributesThatTakeSeveralFormsMakePhases) {
  const std::pair<const char*, const char*> wanted[] = {
      {"streams", "0>1 1>1 state tail "}, {"remembers", "0>1 1>1 before calls level "},
      {"alternates", "0>1 1>0 held "},    {"fills", "0>1 1>2 2>3 3>3 window.0 window.1 window.2 "},
      {"warms_up", "0>1 1>2 2>2 "},
  };
  for (const auto& [name, phases] : wanted) {
    const auto traces = capture_torchscript(fixture(name), options_of(name));
    ASSERT_TRUE(traces.ok()) << name << ": " << traces.failure().text;
    EXPECT_EQ(phases_of(*traces), phases) << name;
    EXPECT_EQ(verdict_of(*traces), Verdict::kSound) << name;
    for (const Trace& trace : *traces) EXPECT_EQ(trace.eager != nullptr, phase_of(trace) == 0);
  }
}

TEST(TorchScript, WhatTheFirstCallMakesIsInTheBundle) {
  const Trace trace = check("tables");
  EXPECT_TRUE(has_finding(trace, "settled"));
  EXPECT_TRUE(trace.states.empty());
}

TEST(TorchScript, WritesIntoSharedMemoryOfALaterPhaseAreRefused) {
  const std::string text = failure_of("halves");
  EXPECT_TRUE(has(text, "'left' and 'right' share memory")) << text;
}

TEST(TorchScript, SamplesOfOtherPhasesAreRefused) {
  TorchScriptOptions options = options_of("streams");
  std::optional<std::string> phases;
  options.phases = &phases;
  ASSERT_TRUE(capture_torchscript(fixture("streams"), options).ok());
  ASSERT_TRUE(capture_torchscript(fixture("streams"), options).ok());
  options.inputs[0] = {"x", DType::kFloat32, {2, 3}, {}, {}};
  const auto other = capture_torchscript(fixture("streams"), options);
  ASSERT_FALSE(other.ok());
  EXPECT_TRUE(has(other.failure().text, "other forms")) << other.failure().text;
}

TEST(TorchScript, MissingInputsListWhatForwardTakes) {
  const std::string text = failure_of("loops", {});
  for (const char* part :
       {"'x'", "x: Tensor", "mask: Optional[Tensor]", "steps: int = 2", "--input"}) {
    EXPECT_TRUE(has(text, part)) << part << " in " << text;
  }
  EXPECT_EQ(capture("loops", {}).failure().error, Error::kInvalidArgument);
}

TEST(TorchScript, UnknownInputsAndKindsAreNamed) {
  TorchScriptOptions options = options_of("loops");
  options.inputs.push_back(options.inputs[0]);
  options.inputs.back().name = "z";
  EXPECT_TRUE(has(failure_of("loops", options), "'z'"));
  options = options_of("loops");
  options.inputs[0].number = 1.5;
  EXPECT_TRUE(has(failure_of("loops", options), "'x' is a tensor"));
  options = options_of("loops");
  GivenInput steps;
  steps.name = "steps";
  steps.number = 1.5;
  options.inputs.push_back(steps);
  EXPECT_TRUE(has(failure_of("loops", options), "type int"));
}

TEST(TorchScript, WhatTheProgramRaises) {
  const std::string text = failure_of("raises");
  EXPECT_TRUE(has(text, "too many rows") && has(text, "torchscript_fixtures.py")) << text;
}

TEST(TorchScript, TrainingModeIsNamed) {
  const auto trace = capture("training_norm", options_of("training_norm"));
  ASSERT_TRUE(trace.ok()) << trace.failure().text;
  EXPECT_TRUE(has_finding(*trace, "training-mode")) << trace->text();
  EXPECT_EQ(trace->states.size(), 3u);
}

TEST(TorchScript, CustomClassesAreNamed) {
  const std::string text = failure_of("quantized");
  EXPECT_TRUE(has(text, "'fc._packed_params") && has(text, "LinearPackedParamsBase")) << text;
}

TEST(TorchScript, OutputsThatAreNoTensorsAreNamed) {
  const std::string text = failure_of("strings");
  EXPECT_TRUE(has(text, "'out.1'") && has(text, "str")) << text;
}

TEST(TorchScript, ForeignOperatorsAreNamed) {
  const auto trace = capture("foreign_operator", options_of("branches"));
  ASSERT_FALSE(trace.ok());
  EXPECT_EQ(trace.failure().error, Error::kUnsupported);
  EXPECT_TRUE(has(trace.failure().text, "nowhere::mul")) << trace.failure().text;
}

TEST(TorchScript, DamagedFiles) {
  for (const char* name : {"cut", "empty", "damaged_code"}) {
    const auto trace = capture(name, {});
    ASSERT_FALSE(trace.ok()) << name;
    EXPECT_EQ(trace.failure().error, Error::kInvalidBundle) << name << trace.failure().text;
    EXPECT_TRUE(has(trace.failure().text, std::string(name) + ".pt")) << trace.failure().text;
    EXPECT_LT(trace.failure().text.size(), 3000u);
  }
}

TEST(TorchScript, CheckpointsAreToldApart) {
  for (const char* name : {"checkpoint", "old_checkpoint"}) {
    const auto trace = capture(name, {});
    ASSERT_FALSE(trace.ok()) << name;
    EXPECT_EQ(trace.failure().error, Error::kInvalidBundle);
    EXPECT_TRUE(has(trace.failure().text, "no program")) << trace.failure().text;
  }
}

TEST(ModelKind, ByContent) {
  EXPECT_EQ(*model_kind(fixture("loops")), ModelKind::kTorchScript);
  EXPECT_EQ(*model_kind(std::string(LAZYRT_PT2_FIXTURES) + "/mlp.pt2"),
            ModelKind::kExportedProgram);
  EXPECT_EQ(model_kind("/nowhere.pt").failure().error, Error::kNotFound);
}

}  // namespace
}  // namespace lazyrt
