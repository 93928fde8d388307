#include "host_tracer/capture/buffer_mode.h"

#include <torch/library.h>

#include "host_tracer/capture/capture_session.h"
#include "host_tracer/capture/op_args.h"

namespace lazyrt {
namespace {

/// A key above autograd that LibTorch leaves to libraries outside of it.
constexpr c10::DispatchKey kMode = c10::DispatchKey::DeferredInit;

void with_leaves(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard below(kMode);
  if (CaptureSession* session = CaptureSession::current()) {
    const size_t count = op.schema().arguments().size();
    for (size_t i = stack->size() - count; i < stack->size(); ++i) {
      map_tensors((*stack)[i], [&](const at::Tensor& t) { return session->in_place_of(t); });
    }
  }
  op.callBoxed(stack);
}

c10::DispatchKey mode_key() {
  // Never destroyed: it stays for the life of the process.
  static auto* mode = [] {
    auto* library = new torch::Library(torch::Library::IMPL, "_", kMode, __FILE__, __LINE__);
    library->fallback(torch::CppFunction::makeFromBoxedFunction<&with_leaves>());
    return library;
  }();
  (void)mode;
  return kMode;
}

}  // namespace

BufferMode::BufferMode() : include_(mode_key()) {}

}  // namespace lazyrt
