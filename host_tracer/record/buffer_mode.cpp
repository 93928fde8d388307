#include "host_tracer/record/buffer_mode.h"

#include <torch/library.h>

#include <unordered_set>

#include "host_tracer/record/capture_session.h"
#include "host_tracer/record/op_args.h"

namespace lazyrt {
namespace {

/// A key above autograd that LibTorch leaves to libraries outside of it.
constexpr c10::DispatchKey kMode = c10::DispatchKey::DeferredInit;

thread_local BufferMode* t_mode = nullptr;

bool has_memory(const at::Tensor& t) {
  return t.defined() && t.device().is_cpu() && t.has_storage();
}

/// Calls `see` with each CPU tensor in a value.
template <class See>
void see_tensors(c10::IValue value, const See& see) {
  map_tensors(value, [&](const at::Tensor& t) {
    if (has_memory(t)) see(t);
    return t;
  });
}

using Memories = std::unordered_set<const c10::StorageImpl*>;

const c10::StorageImpl* memory(const at::Tensor& t) { return t.storage().unsafeGetStorageImpl(); }

/// Returns the memories of the CPU tensors among a call's arguments; notes writes into them.
Memories see_arguments(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  Memories given;
  const auto& arguments = op.schema().arguments();
  const size_t first = stack.size() - arguments.size();
  for (size_t i = 0; i < arguments.size(); ++i) {
    const bool written = arguments[i].alias_info() && arguments[i].alias_info()->isWrite();
    see_tensors(stack[first + i], [&](const at::Tensor& t) {
      if (written) t_mode->note_write(t);
      given.insert(memory(t));
    });
  }
  return given;
}

void with_leaves(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard below(kMode);
  CaptureSession* session = CaptureSession::current();
  if (!session || !t_mode) return op.callBoxed(stack);
  const size_t count = op.schema().arguments().size();
  for (size_t i = stack->size() - count; i < stack->size(); ++i) {
    map_tensors((*stack)[i], [&](const at::Tensor& t) { return session->in_place_of(t); });
  }
  const Memories given = see_arguments(op, *stack);
  op.callBoxed(stack);
  const size_t results = op.schema().returns().size();
  for (size_t i = stack->size() - results; i < stack->size(); ++i) {
    see_tensors((*stack)[i], [&](const at::Tensor& t) {
      if (!given.count(memory(t))) t_mode->note_made(t);
    });
  }
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

BufferMode::BufferMode() : include_(mode_key()) { t_mode = this; }
BufferMode::~BufferMode() { t_mode = nullptr; }

void BufferMode::note_write(const at::Tensor& cpu) {
  if (!made_.count(memory(cpu))) writes_outside_.push_back(current_source());
}

void BufferMode::note_made(const at::Tensor& cpu) {
  made_.try_emplace(memory(cpu), cpu.storage().getWeakStorageImpl());
}

}  // namespace lazyrt
