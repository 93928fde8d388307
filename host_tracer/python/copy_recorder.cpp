#include "host_tracer/python/copy_recorder.h"

#include <ATen/ATen.h>

namespace lazyrt {

thread_local CopyRecorder* CopyRecorder::running_ = nullptr;

struct CopyRecorder::Call : at::ObserverContext {
  at::Tensor operand;  ///< of an outermost call that may copy
};

void CopyRecorder::start() {
  TORCH_CHECK(!running_, "one CopyRecorder at a time");
  running_ = this;
  handle_ = at::addThreadLocalCallback(at::RecordFunctionCallback(&begin_call, &end_call)
                                           .needsInputs(true)
                                           .needsOutputs(true)
                                           .scopes({at::RecordScope::FUNCTION}));
}

void CopyRecorder::stop() {
  at::removeCallback(handle_);
  running_ = nullptr;
}

std::unique_ptr<at::ObserverContext> CopyRecorder::begin_call(const at::RecordFunction& function) {
  auto call = std::make_unique<Call>();
  if (!running_ || running_->depth_++ != 0) return call;
  if (running_->operators_.count(function.name()) == 0) return call;
  const auto inputs = function.inputs();
  if (!inputs.empty() && inputs[0].isTensor()) call->operand = inputs[0].toTensor();
  return call;
}

void CopyRecorder::end_call(const at::RecordFunction& function, at::ObserverContext* context) {
  if (!running_) return;
  --running_->depth_;
  const auto* call = static_cast<const Call*>(context);
  if (!call || !call->operand.defined() || function.outputs().empty()) return;
  const c10::IValue& result = function.outputs()[0];
  running_->copied_ |= result.isTensor() && !result.toTensor().is_alias_of(call->operand);
}

}  // namespace lazyrt
