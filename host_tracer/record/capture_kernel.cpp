#include "host_tracer/record/capture_kernel.h"

#include <ATen/ExpandUtils.h>
#include <ATen/FunctionalTensorWrapper.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/library.h>

#include <memory>
#include <vector>

#include "host_tracer/record/capture_session.h"
#include "host_tracer/record/fast_paths.h"
#include "host_tracer/record/lazy_backend.h"
#include "host_tracer/record/lowering.h"
#include "host_tracer/record/op_args.h"

namespace lazyrt {
namespace {

namespace fimpl = at::functionalization::impl;

/// Composite operators that the trace keeps whole where no gradient is recorded: one node says more
/// than their decomposition.
constexpr const char* kKeptWhole[] = {
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "avg_pool1d",
    "batch_norm",
    "gru.input",
    "instance_norm",
    "is_nonzero",
    "linear",
    "log_sigmoid",
    "lstm.input",
    "matmul",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "mish_backward",
    "prelu",
    "rms_norm",
    "rnn_relu.input",
    "rnn_tanh.input",
    "scaled_dot_product_attention",
    "silu_backward",
};

struct Unwrapped {
  bool functional = false;  ///< some operand was wrapped, so the results have to be
  bool lazy = false;        ///< some operand is lazy
};

/// Brings functional operands up to date and takes them out of their wrappers, in place.
Unwrapped unwrap_arguments(torch::jit::Stack* stack, size_t count) {
  Unwrapped seen;
  for (size_t i = stack->size() - count; i < stack->size(); ++i) {
    map_tensors((*stack)[i], [&seen](const at::Tensor& t) {
      seen.lazy = seen.lazy || is_lazy(t);
      if (!fimpl::isFunctionalTensor(t)) return t;
      seen.functional = true;
      fimpl::sync(t);
      return fimpl::from_functional_tensor(t);
    });
  }
  return seen;
}

void wrap_results(CaptureSession& session, torch::jit::Stack* stack, size_t count) {
  for (size_t i = stack->size() - count; i < stack->size(); ++i) {
    map_tensors((*stack)[i], [&](const at::Tensor& t) {
      if (!is_lazy(t) || fimpl::isFunctionalTensor(t)) return t;
      const at::Tensor wrapped = fimpl::to_functional_tensor(t);
      if (session.request().keeps_nothing) session.remember(wrapped);
      return wrapped;
    });
  }
}

constexpr const char* kOutside =
    " was called on a lazy tensor outside of its capture: in another thread (a pool's, say), which "
    "a "
    "capture does not follow, or after the call. Call the model's layers in the thread of the "
    "model";

/// Below Functionalize its wrappers are off, and what is called there must not wrap again.
bool below_functionalize() {
  return c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::Functionalize);
}

void capture_boxed(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  CaptureSession* session = CaptureSession::current();
  TORCH_CHECK(session, full_name(op), kOutside);
  give_optional_tensors(op, stack);
  if (record_training_norm(op, stack)) return;
  const size_t arguments = op.schema().arguments().size();
  const Unwrapped seen = unwrap_arguments(stack, arguments);
  // LibTorch's fallback leaves lists that the interpreter of TorchScript makes wrapped.
  const bool wraps = (seen.functional || !seen.lazy) && !below_functionalize();
  {
    const at::AutoDispatchBelowADInplaceOrView no_autograd;
    const at::AutoDispatchSkipFunctionalize no_functionalize;
    session->record(op, stack);
  }
  if (wraps) wrap_results(*session, stack, op.schema().returns().size());
}

/// LibTorch's own one_hot reads the ids with item(); here their range is a check of the model's.
at::Tensor one_hot(const at::Tensor& self, int64_t num_classes) {
  TORCH_CHECK(self.scalar_type() == at::kLong,
              "one_hot is only applicable to index tensor of type LongTensor.");
  TORCH_CHECK(self.numel() > 0 || num_classes > 0,
              "Can not infer total number of classes from empty tensor.");
  std::vector<int64_t> sizes = self.sizes().vec();
  if (self.numel() > 0) {
    require(at::all(at::ge(self, 0)), "one_hot: Class values must be non-negative.");
    if (num_classes == -1) num_classes = at::max(self).item<int64_t>() + 1;
    TORCH_CHECK(num_classes >= 1, "num_classes should be positive");
    require(at::all(at::lt(self, num_classes)),
            "one_hot: Class values must be smaller than num_classes.");
  }
  sizes.push_back(num_classes);
  return at::zeros(sizes, self.options()).scatter(-1, self.unsqueeze(-1), 1);
}

/// Lifts tensors that the program made on the CPU: the parts of some operators require one device.
void lift_constants(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  CaptureSession* session = CaptureSession::current();
  for (size_t i = stack.size() - op.schema().arguments().size(); i < stack.size(); ++i) {
    map_tensors(stack[i], [session](const at::Tensor& t) {
      const bool own = !t.defined() || is_lazy(t) || t.dim() == 0;
      return own ? t : session->lift(t.clone());
    });
  }
}

/// Recurrent layers for which there is no operator: without gates, and LSTM with projections, whose
/// h is smaller than c. Their parts are a few operators for each step.
bool is_recurrence_in_parts(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  const std::string& name = op.schema().name();
  if (name == "aten::rnn_tanh" || name == "aten::rnn_relu") return true;
  if (name != "aten::lstm") return false;
  const c10::IValue& hx = torch::jit::peek(stack, 1, op.schema().arguments().size());
  if (!hx.isTensorList()) return false;  // a packed sequence
  const std::vector<at::Tensor> states = hx.toTensorVector();
  return states.size() == 2 && states[0].size(-1) != states[1].size(-1);
}

/// Returns whether autograd records this call; it could not see into an operator that is kept
/// whole.
bool gradient_wanted(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  if (!at::GradMode::is_enabled()) return false;
  bool wanted = false;
  for (size_t i = stack.size() - op.schema().arguments().size(); i < stack.size(); ++i) {
    c10::IValue value = stack[i];
    map_tensors(value, [&wanted](const at::Tensor& t) {
      wanted = wanted || t.requires_grad();
      return t;
    });
  }
  return wanted;
}

/// Where gradients are recorded, autograd has to see the composite operator's parts; no node is
/// complex.
void capture_whole(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  constexpr auto kParts = c10::DispatchKey::CompositeImplicitAutograd;
  const bool parts = gradient_wanted(op, *stack) || has_complex_operand(op, *stack) ||
                     is_recurrence_in_parts(op, *stack);
  if (parts && op.hasKernelForDispatchKey(kParts)) {
    lift_constants(op, *stack);
    op.callBoxedForDispatchKey(kParts, *stack);
  } else {
    capture_boxed(op, stack);
  }
}

void capture_fast_path(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  CaptureSession* session = CaptureSession::current();
  TORCH_CHECK(session, full_name(op), kOutside);
  const torch::jit::Stack arguments = torch::jit::pop(*stack, op.schema().arguments().size());
  const FastPath path = fast_paths().at(*aten_name(op));
  for (const c10::IValue& made : path(session->nested(), arguments)) {
    stack->push_back(made);
  }
}

/// A call from above functionalization, which itself calls the same operator to write windows back.
at::Tensor unfold_backward(const at::Tensor& grad, at::IntArrayRef sizes, int64_t dim, int64_t size,
                           int64_t step) {
  const bool functional = fimpl::isFunctionalTensor(grad);
  if (functional) fimpl::sync(grad);
  const at::Tensor plain = functional ? fimpl::from_functional_tensor(grad) : grad;
  const at::AutoDispatchSkipFunctionalize no_functionalize;
  const AskedFor asked;
  const at::Tensor made = at::unfold_backward(plain, sizes, dim, size, step);
  return functional ? fimpl::to_functional_tensor(made) : made;
}

/// LibTorch's own quantile reads q with item(), only on the CPU; here its range is a check of the
/// model's.
void quantile(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const at::Tensor q = torch::jit::peek(*stack, 1, op.schema().arguments().size()).toTensor();
  if (is_lazy(q)) {
    require(at::all(at::logical_and(at::ge(q, 0), at::le(q, 1))),
            op.schema().name() + ": q values must be in the range [0, 1]");
  }
  op.callBoxedForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd, *stack);
}

/// The old name raises inside of one operator; linalg's splits into the factors and the check.
at::Tensor cholesky(const at::Tensor& self, bool upper) { return at::linalg_cholesky(self, upper); }

torch::CppFunction boxed_kernel() {
  return torch::CppFunction::makeFromBoxedFunction<&capture_boxed>();
}

bool decomposed_below(const c10::OperatorHandle& op) {
  using c10::DispatchKey;
  return op.hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutograd) ||
         op.hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutogradNonFunctional);
}

void register_by_name(torch::Library& library) {
  for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
    const auto ns = name.getNamespace();
    if (!ns || *ns != "aten") continue;
    const auto op = c10::Dispatcher::singleton().findSchema(name);
    if (!op || !decomposed_below(*op)) continue;
    if (op->hasKernelForDispatchKey(c10::DispatchKey::Lazy)) continue;
    library.impl(c10::toString(name).c_str(), boxed_kernel());
  }
}

/// Some operators of logic have no meta kernel in C++ (torch's Python brings them), by which
/// functionalization tries calls in place.
at::Tensor& logic_of_both(const at::Tensor& a, const at::Tensor& b, at::Tensor& out) {
  const auto sizes = at::infer_size(a.sizes(), b.sizes());
  if (out.sizes() != sizes) out.resize_(sizes);
  return out;
}

at::Tensor& logic_of_one(const at::Tensor& a, at::Tensor& out) {
  if (out.sizes() != a.sizes()) out.resize_(a.sizes());
  return out;
}

void register_meta_kernels(torch::Library& library) {
  const auto has_none = [](const char* name) {
    const std::string full = std::string("aten::") + name;
    return !c10::Dispatcher::singleton()
                .findSchemaOrThrow(full.c_str(), "out")
                .hasKernelForDispatchKey(c10::DispatchKey::Meta);
  };
  for (const char* name : {"logical_and", "logical_or", "logical_xor"}) {
    if (has_none(name)) library.impl((std::string(name) + ".out").c_str(), TORCH_FN(logic_of_both));
  }
  if (has_none("logical_not")) library.impl("logical_not.out", TORCH_FN(logic_of_one));
}

}  // namespace

void register_capture_kernels() {
  using torch::Library;
  // Never destroyed: the kernels stay for the life of the process.
  static auto* fallback =
      new Library(Library::IMPL, "_", c10::DispatchKey::Lazy, __FILE__, __LINE__);
  static auto* lazy =
      new Library(Library::IMPL, "aten", c10::DispatchKey::Lazy, __FILE__, __LINE__);
  static auto* whole =
      new Library(Library::IMPL, "aten", c10::DispatchKey::AutogradLazy, __FILE__, __LINE__);
  static auto* functionalize =
      new Library(Library::IMPL, "aten", c10::DispatchKey::Functionalize, __FILE__, __LINE__);
  static auto* meta =
      new Library(Library::IMPL, "aten", c10::DispatchKey::Meta, __FILE__, __LINE__);
  fallback->fallback(boxed_kernel());
  register_meta_kernels(*meta);
  register_by_name(*lazy);
  for (const char* name : kKeptWhole) {
    whole->impl(name, torch::CppFunction::makeFromBoxedFunction<&capture_whole>());
  }
  for (const auto& [name, path] : fast_paths()) {
    whole->impl(name.c_str(), torch::CppFunction::makeFromBoxedFunction<&capture_fast_path>());
  }
  functionalize->impl("unfold_backward", TORCH_FN(unfold_backward));
  // One of its results is a CPU tensor, which functionalization would wrap.
  functionalize->impl("_pack_padded_sequence", boxed_kernel());
  whole->impl("one_hot", TORCH_FN(one_hot));
  whole->impl("cholesky", TORCH_FN(cholesky));
  for (const char* name : {"quantile", "nanquantile"}) {
    whole->impl(name, torch::CppFunction::makeFromBoxedFunction<&quantile>());
  }
}

}  // namespace lazyrt
