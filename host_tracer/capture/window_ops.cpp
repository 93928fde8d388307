#include "host_tracer/capture/window_ops.h"

#include <ATen/ATen.h>

#include "host_tracer/capture/capture_session.h"

namespace lazyrt {
namespace {

bool is_window(const std::string& name) {
  return name.ends_with("_window") || name == "aten::fft_fftfreq" || name == "aten::fft_rfftfreq";
}

}  // namespace

bool record_window(CaptureSession& session, const c10::OperatorHandle& op,
                   torch::jit::Stack* stack) {
  if (!is_window(op.operator_name().name)) return false;
  torch::jit::Stack call = torch::jit::pop(*stack, op.schema().arguments().size());
  for (c10::IValue& arg : call) {
    if (arg.isDevice()) arg = at::Device(at::kCPU);
  }
  op.callBoxed(call);
  stack->emplace_back(session.add_constant(call.front().toTensor()));
  return true;
}

}  // namespace lazyrt
