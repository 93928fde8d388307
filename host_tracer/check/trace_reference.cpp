#include "host_tracer/check/trace_reference.h"

#include <ATen/ATen.h>

#include <optional>

#include "host_tracer/record/capture.h"
#include "host_tracer/record/trace_eval.h"

namespace lazyrt {
namespace {

class TraceProgram {
 public:
  TraceProgram(const std::vector<TraceGroup>& groups, size_t first)
      : groups_(groups), first_(first) {}

  EagerRun call(const std::vector<SampleTensor>& samples, bool reset) {
    if (reset) states_.clear();
    std::vector<at::Tensor> inputs;
    for (const SampleTensor& sample : samples) inputs.push_back(from_sample(sample).clone());
    auto run = evaluate(inputs);
    EagerRun result;
    if (!run.ok()) {
      result.raised = run.failure().text;
      return result;
    }
    states_ = std::move(run->states);
    const Trace& trace = groups_[taken_].trace;
    for (size_t i = 0; i < run->outputs.size(); ++i) {
      ResultValue value{{}, trace.outputs[i].literal};
      if (!value.number && run->outputs[i].defined()) value.tensor = to_sample(run->outputs[i]);
      result.outputs.push_back(std::move(value));
    }
    return result;
  }

 private:
  /// Evaluates the first variant whose guards hold, or that of the sample.
  Outcome<TraceRun> evaluate(const std::vector<at::Tensor>& inputs) {
    std::optional<Outcome<TraceRun>> own;
    for (size_t i = 0; i < groups_.size(); ++i) {
      const size_t group = (first_ + i) % groups_.size();
      const Trace& trace = groups_[group].trace;
      auto run = run_trace(trace, inputs, states_);
      const bool fits = run.ok() && guards_hold(trace, run->guards);
      if (!fits && i > 0) continue;
      taken_ = group;
      if (fits) return run;
      own = std::move(run);
    }
    taken_ = first_;
    return std::move(*own);
  }

  const std::vector<TraceGroup>& groups_;
  const size_t first_;
  size_t taken_ = 0;
  std::vector<at::Tensor> states_;
};

}  // namespace

std::shared_ptr<const EagerReference> trace_reference(const std::vector<TraceGroup>& groups,
                                                      size_t first) {
  auto program = std::make_shared<TraceProgram>(groups, first);
  auto reference = std::make_shared<EagerReference>();
  reference->call = [program](const std::vector<SampleTensor>& inputs, bool reset) {
    return program->call(inputs, reset);
  };
  return reference;
}

}  // namespace lazyrt
