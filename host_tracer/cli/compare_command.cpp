#include <cstdio>
#include <nlohmann/json.hpp>

#include "host_tracer/check/compare_text.h"
#include "host_tracer/cli/capture_model.h"
#include "host_tracer/cli/commands.h"
#include "host_tracer/cli/console.h"
#include "host_tracer/cli/input_spec.h"
#include "host_tracer/cli/progress.h"
#include "host_tracer/frontends/shared/model_kind.h"
#include "lazyrt/backend_choice.h"

namespace lazyrt {
namespace {

/// The inputs of the bundle's first sample, under the names of its interface.
std::vector<GivenInput> sample_inputs(const LoadedBundle& bundle) {
  std::vector<GivenInput> inputs;
  const Method method = bundle.program().method(size_t{0});
  for (size_t i = 0; i < method.input_count() && method.sample_count() != 0; ++i) {
    const TensorView view = method.sample_input(0, i);
    GivenInput input;
    input.name = method.input(i).name;
    input.dtype = view.dtype;
    input.shape.assign(view.shape.begin(), view.shape.end());
    input.data.data = static_cast<const uint8_t*>(view.data);
    input.data.bytes = view.bytes();
    inputs.push_back(std::move(input));
  }
  return inputs;
}

/// A .pt2 has its own samples; for TorchScript those of the bundle are used.
Outcome<std::vector<GivenInput>> inputs_of(const CompareArguments& arguments,
                                           const LoadedBundle& bundle) {
  auto given = parse_input_specs(arguments.inputs);
  if (!given.ok() || !given->empty()) return given;
  const auto kind = model_kind(arguments.model);
  if (!kind.ok()) return kind.failure();
  return *kind == ModelKind::kTorchScript ? sample_inputs(bundle) : std::vector<GivenInput>();
}

Outcome<NodeComparison> compare(const CompareArguments& arguments, Progress& progress) {
  BackendChoice backends;  // outlives the bundle's Program
  const auto backend = backends.find(arguments.backend.c_str());
  if (!backend.ok()) return backend.status();
  const auto bundle = LoadedBundle::open(arguments.bundle);
  if (!bundle.ok()) return bundle.failure();
  auto inputs = inputs_of(arguments, **bundle);
  if (!inputs.ok()) return inputs.failure();
  CaptureSettings settings;
  settings.sample_outputs = false;
  settings.second_trace = false;
  settings.progress = [&](const char* stage, int64_t done, int64_t total) {
    progress.report(stage, done, total);
  };
  const auto traces = capture_model(arguments.model, std::move(*inputs), settings);
  if (!traces.ok()) return traces.failure();
  CompareOptions options;
  options.backend = *backend;
  options.threads = arguments.threads;
  options.relative = arguments.relative;
  options.progress = [&](const std::string& stage, int64_t done, int64_t total) {
    progress.report(stage, done, total);
  };
  return compare_nodes(**bundle, traces->front(), options);
}

}  // namespace

Exit run_compare(const CompareArguments& arguments) {
  auto progress = std::make_unique<Progress>(!arguments.quiet);
  const auto comparison = compare(arguments, *progress);
  progress.reset();
  if (!comparison.ok()) return fail(comparison.failure(), arguments.json);
  if (arguments.json) {
    auto json = compare_json(*comparison);
    json["bundle"] = arguments.bundle;
    json["model"] = arguments.model;
    print_json(json);
  } else {
    if (!arguments.quiet) print_text(compare_table(*comparison));
    print_text(compare_verdict(*comparison) + "\n");
  }
  if (is_difference(*comparison)) return Exit::kMismatch;
  return comparison->compared == 0 ? Exit::kUnsupported : Exit::kDone;
}

}  // namespace lazyrt
