#include "host_tracer/capture/capture.h"

#include <ATen/ATen.h>
#include <ATen/FunctionalTensorWrapper.h>

#include <mutex>

#include "host_tracer/capture/capture_session.h"
#include "host_tracer/capture/lazy_backend.h"

namespace lazyrt {
namespace {

std::mutex& process_lock() {
  static auto* lock = new std::mutex();
  return *lock;
}

/// Calls it; an exception is kept for the caller of the capture, then goes on.
template <typename Fn>
void remembering(const CaptureRequest& request, const Fn& fn) {
  try {
    fn();
  } catch (...) {
    if (request.thrown) *request.thrown = std::current_exception();
    throw;
  }
}

Trace run_capture(const CaptureRequest& request, const CaptureProgram& program) {
  const at::NoGradGuard no_grad;
  const at::functionalization::impl::FunctionalizationReapplyViewsGuard copies(false);
  const TrimGraphOff whole_graph;
  remembering(request, [&] {
    if (request.before_trace) request.before_trace();
  });
  CaptureSession session(request);
  std::vector<at::Tensor> outputs;
  remembering(request, [&] { outputs = program(session.inputs()); });
  return session.finish(outputs, request.output_names);
}

Failure refused(std::string text) { return {Error::kUnsupported, std::move(text)}; }

struct TypePair {
  at::ScalarType aten;
  DType ours;
};
constexpr TypePair kTypes[] = {
    {at::kFloat, DType::kFloat32},     {at::kDouble, DType::kFloat64}, {at::kHalf, DType::kFloat16},
    {at::kBFloat16, DType::kBFloat16}, {at::kChar, DType::kInt8},      {at::kByte, DType::kUInt8},
    {at::kShort, DType::kInt16},       {at::kInt, DType::kInt32},      {at::kLong, DType::kInt64},
    {at::kBool, DType::kBool},
};

}  // namespace

Outcome<Trace> capture(const CaptureRequest& request, const CaptureProgram& program) {
  if (CaptureSession::current()) return refused("a capture cannot be started inside another");
  const std::lock_guard<std::mutex> lock(process_lock());
  try {
    if (std::string error = install_lazy_backend(); !error.empty()) return refused(error);
    return run_capture(request, program);
  } catch (const c10::Error& e) {
    return refused(e.what_without_backtrace());
  } catch (const std::exception& e) {
    return refused(std::string("the program failed while it was captured: ") + e.what());
  } catch (...) {
    return refused("the program failed while it was captured");
  }
}

at::Tensor lift(const at::Tensor& cpu) {
  CaptureSession* session = CaptureSession::current();
  TORCH_CHECK(session, "lift() works only inside a captured program");
  return session->lift(cpu);
}

at::Device capture_device() { return at::Device(at::kLazy, 0); }

DType to_dtype(at::ScalarType type) {
  for (const TypePair& pair : kTypes) {
    if (pair.aten == type) return pair.ours;
  }
  return DType::kNone;
}

at::ScalarType to_scalar_type(DType type) {
  for (const TypePair& pair : kTypes) {
    if (pair.ours == type) return pair.aten;
  }
  return at::ScalarType::Undefined;
}

SampleTensor to_sample(const at::Tensor& cpu) {
  auto owner = std::make_shared<at::Tensor>(cpu.detach().contiguous());
  SampleTensor sample;
  sample.dtype = to_dtype(cpu.scalar_type());
  sample.shape = cpu.sizes().vec();
  sample.data.data = static_cast<const uint8_t*>(owner->const_data_ptr());
  sample.data.bytes = owner->nbytes();
  sample.data.owner = std::move(owner);
  return sample;
}

at::Tensor from_sample(const SampleTensor& sample) {
  const auto options = at::TensorOptions().dtype(to_scalar_type(sample.dtype));
  if (sample.data.bytes == 0) return at::empty(sample.shape, options);
  // from_blob wants a mutable address; callers only read.
  void* data = const_cast<uint8_t*>(sample.data.data);
  return at::from_blob(
      data, sample.shape, [owner = sample.data.owner](void*) {}, options);
}

}  // namespace lazyrt
