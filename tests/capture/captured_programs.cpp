#include "tests/capture/captured_programs.h"

#include <ATen/ATen.h>

#include <stdexcept>

#include "host_tracer/record/checked_capture.h"

namespace lazyrt::test {
namespace {

using Tensors = std::vector<at::Tensor>;

/// Captures and adds what eager gives. `eager` is the same program on CPU tensors.
Trace captured(const CaptureRequest& request, const CaptureProgram& program,
               const CaptureProgram& eager) {
  auto trace = capture_checked(request, program);
  if (!trace.ok()) throw std::runtime_error(trace.failure().text);
  Tensors inputs;
  for (const NamedTensor& input : request.inputs) inputs.push_back(input.tensor);
  for (const at::Tensor& y : eager(inputs)) {
    trace->sample_outputs.push_back(to_sample(y.contiguous()));
  }
  return *trace;
}

at::Tensor weight() { return at::linspace(0.1, 1.6, 16).reshape({4, 4}); }

}  // namespace

Trace early_exit(int64_t rows, float level) {
  const at::Tensor w = weight();
  CaptureRequest request;
  request.inputs = {{"x", at::full({rows, 4}, level)}};
  request.parameters = {{"w", w}};
  const CaptureProgram program = [w](const Tensors& x) {
    const at::Tensor y = at::linear(x[0], w);
    const SourceScope scope({"", "model.py", 7, ""});
    if ((y.mean() > 0).item<bool>()) return Tensors{at::exp(-y) * 3};
    return Tensors{at::linear(at::relu(y), w)};
  };
  return captured(request, program, program);
}

Trace growing_scale() {
  const at::Tensor scale = at::full({1}, 5.0f);
  CaptureRequest request;
  request.inputs = {{"x", at::linspace(1, 3, 3)}};
  request.buffers = {{"scale", scale}};
  const auto step = [](const at::Tensor& state, const Tensors& x) {
    const at::Tensor y = x[0] * state;
    state.add_(1);
    return Tensors{y};
  };
  return captured(
      request, [&](const Tensors& x) { return step(lazyrt::lift(scale), x); },
      [&](const Tensors& x) { return step(scale.clone(), x); });
}

Trace level_of_a_call(bool start) {
  const at::Tensor level = at::ones({});
  CaptureRequest request;
  request.inputs = {{"x", at::ones({3})}, {"start", at::full({}, start, at::kBool)}};
  request.buffers = {{"level", level}};
  const auto step = [](const at::Tensor& state, const Tensors& x) {
    if (x[1].item<bool>()) {
      state.copy_(x[0].abs().mean());
      return Tensors{x[0]};
    }
    return (state < 0.5).item<bool>() ? Tensors{x[0]} : Tensors{x[0] / state};
  };
  return captured(
      request, [&](const Tensors& x) { return step(lazyrt::lift(level), x); },
      [&](const Tensors& x) { return step(level.clone(), x); });
}

}  // namespace lazyrt::test
