#include "host_tracer/record/capture.h"

#include <ATen/ATen.h>
#include <ATen/FunctionalTensorWrapper.h>

#include "host_tracer/record/capture_session.h"
#include "host_tracer/record/checked_capture.h"
#include "host_tracer/record/sync_ops.h"

namespace lazyrt {
namespace {

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
  CheckOptions options;
  options.second_trace = false;
  return capture_checked(request, program, options);
}

at::Tensor lift(const at::Tensor& cpu) {
  CaptureSession* session = CaptureSession::current();
  TORCH_CHECK(session, "lift() works only inside a captured program");
  return session->lift(cpu);
}

at::Tensor peek(const at::Tensor& lazy) {
  const PeekScope scope;
  return at::_to_copy(lazy, at::TensorOptions().device(at::kCPU));
}

void require(const at::Tensor& condition, const std::string& text) {
  at::_assert_async(condition, text);
}

namespace {

CaptureSession& running_session() {
  CaptureSession* session = CaptureSession::current();
  TORCH_CHECK(session, "this function works only inside a captured program");
  return *session;
}

}  // namespace

at::Tensor add_state(const std::string& name, const at::Tensor& initial) {
  return running_session().add_state(name, initial);
}

bool is_dynamic(const at::Tensor& lazy) {
  CaptureSession& session = running_session();
  return session.is_dynamic(session.current_value(lazy));
}

at::Tensor sample_of(const at::Tensor& lazy) {
  CaptureSession& session = running_session();
  return session.evaluate(session.current_value(lazy)).clone();
}

bool was_written(const at::Tensor& lazy) {
  if (!at::functionalization::impl::isFunctionalTensor(lazy)) return false;
  auto* wrapper = at::functionalization::impl::unsafeGetFunctionalWrapper(lazy);
  return wrapper->has_data_mutation() || wrapper->has_metadata_mutation() ||
         wrapper->was_storage_changed();
}

uint64_t writes_into(const at::Tensor& lazy) {
  if (!at::functionalization::impl::isFunctionalTensor(lazy)) return 0;
  return at::functionalization::impl::unsafeGetFunctionalWrapper(lazy)->mutation_counter();
}

const void* memory_of(const at::Tensor& lazy) {
  return lazy.has_storage() ? lazy.storage().unsafeGetStorageImpl() : nullptr;
}

bool overlaps_itself(const at::Tensor& lazy) {
  if (!at::functionalization::impl::isFunctionalTensor(lazy)) return false;
  auto* storage = static_cast<at::functionalization::FunctionalStorageImpl*>(
      lazy.storage().unsafeGetStorageImpl());
  return storage->base().numel() < lazy.numel();
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
  // Autograd's zero tensors have no memory, and other tensors may carry a conjugate or negative
  // bit.
  const at::Tensor plain = cpu._is_zerotensor() ? at::zeros(cpu.sizes(), cpu.options())
                           : cpu.is_neg()       ? cpu.detach().resolve_neg().contiguous()
                                                : cpu.detach().contiguous();
  auto owner = std::make_shared<at::Tensor>(plain);
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
