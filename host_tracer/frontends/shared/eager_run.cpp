#include "host_tracer/frontends/shared/eager_run.h"

#include <ATen/ATen.h>

#include "host_tracer/frontends/shared/program_outputs.h"
#include "host_tracer/record/capture.h"

namespace lazyrt {
namespace {

ResultValue result_value(const c10::IValue& value) {
  ResultValue result;
  if (value.isTensor() && value.toTensor().defined()) {
    // A later call may write into what this one returned.
    result.tensor = to_sample(value.toTensor().detach().clone());
  }
  if (value.isBool()) result.number = value.toBool();
  if (value.isInt()) result.number = value.toInt();
  if (value.isDouble()) result.number = value.toDouble();
  return result;
}

EagerRun run_of(const std::vector<std::string>& names, const c10::IValue& returned) {
  EagerRun run;
  std::string found, wanted;
  for (const NamedValue& leaf : flatten_outputs(returned, "out")) {
    found += (found.empty() ? "" : ", ") + leaf.name;
    run.outputs.push_back(result_value(leaf.value));
  }
  for (const std::string& name : names) wanted += (wanted.empty() ? "" : ", ") + name;
  if (found != wanted) {
    run.other_structure = "the results are " + found + " instead of " + wanted;
  }
  return run;
}

EagerRun raised(const std::string& what) {
  EagerRun run;
  run.raised = what.empty() ? "an exception without text" : what;
  return run;
}

/// What `run` gives, or what it threw.
EagerRun caught(bool gradients, const std::function<EagerRun()>& run) {
  try {
    const at::AutoGradMode mode(gradients);
    return run();
  } catch (const c10::Error& e) {
    return raised(e.what_without_backtrace());
  } catch (const std::exception& e) {
    return raised(e.what());
  }
}

}  // namespace

EagerRun eager_run(const std::vector<std::string>& names, bool gradients,
                   const std::function<c10::IValue()>& call) {
  return caught(gradients, [&] { return run_of(names, call()); });
}

EagerRun eager_run_in_order(const std::function<std::vector<c10::IValue>()>& call) {
  return caught(/*gradients=*/false, [&] {
    EagerRun run;
    for (const c10::IValue& value : call()) {
      if (!value.isNone()) run.outputs.push_back(result_value(value));
    }
    return run;
  });
}

std::vector<std::string> output_names(const Trace& trace) {
  std::vector<std::string> names;
  for (const TraceOutput& out : trace.outputs) names.push_back(out.name);
  return names;
}

std::vector<at::Tensor> cloned_inputs(const std::vector<SampleTensor>& samples) {
  std::vector<at::Tensor> inputs;
  for (const SampleTensor& sample : samples) inputs.push_back(from_sample(sample).clone());
  return inputs;
}

}  // namespace lazyrt
