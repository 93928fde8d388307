#include "host_tracer/record/sync_ops.h"

#include <ATen/ATen.h>

#include <limits>

#include "host_tracer/record/capture_session.h"
#include "host_tracer/record/lazy_backend.h"
#include "host_tracer/record/op_args.h"

namespace lazyrt {
namespace {

using Tensors = std::vector<at::Tensor>;

thread_local bool t_peeking = false;

SyncRecord new_record(CaptureSession& session, SyncKind kind, const at::Tensor& lazy) {
  SyncRecord record;
  record.kind = t_peeking ? SyncKind::kPeek : kind;
  record.source = current_source();
  record.value = session.operand_value(lazy);
  const OpNode* maker = as_op(record.value.node.get());
  if (maker && record.source.text().empty()) record.source = maker->call().source;
  record.of_inputs = depends_on_input(record.value.node.get());
  return record;
}

/// One element as a 0-dim tensor.
at::Tensor as_scalar(const at::Tensor& lazy) {
  return lazy.dim() == 0 ? lazy : at::view_copy(lazy, at::IntArrayRef{});
}

/// Asks whether the program raises on the other truth value than the one that was just read.
void look_for_check(CaptureSession& session) {
  SyncRecord& record = session.log().syncs().back();
  const auto& check_of = session.request().check_of;
  if (!check_of || !session.log().first_run() || record.kind != SyncKind::kTruth) return;
  const std::string text = check_of(record.given.front().item<bool>());
  record.check = !text.empty();
  if (record.check) record.text = text;
}

at::Tensor scalar_on_cpu(CaptureSession& session, const at::Tensor& t) {
  return session.evaluate(t).reshape({});
}

/// Returns the value of one element, logged if it depends on something that may change.
at::Tensor sync_scalar(CaptureSession& session, SyncKind kind, const at::Tensor& t,
                       const std::string& what, const std::string& text) {
  if (!session.is_dynamic(t)) return scalar_on_cpu(session, t);
  const at::Tensor one = as_scalar(t);
  SyncRecord record = new_record(session, kind, one);
  record.what = what;
  record.text = text;
  const auto compute = [&] { return Tensors{scalar_on_cpu(session, one)}; };
  const at::Tensor value = session.log().sync(std::move(record), compute).front();
  if (kind == SyncKind::kTruth && value.scalar_type() == at::kBool) look_for_check(session);
  return value;
}

void item(CaptureSession& session, const at::Tensor& self, torch::jit::Stack* stack) {
  const bool truth = self.scalar_type() == at::kBool;
  const std::string what = truth ? "bool" : "item";
  const at::Tensor value = sync_scalar(session, truth ? SyncKind::kTruth : SyncKind::kNumber, self,
                                       what, what + "(" + session.operand_text(self) + ")");
  stack->emplace_back(value.item());
}

/// bool(t), `if t:` for any dtype: only whether the number is true decides the program's path.
void is_nonzero(CaptureSession& session, const at::Tensor& self, torch::jit::Stack* stack) {
  TORCH_CHECK(self.numel() == 1, "bool of a tensor with ", self.numel(), " elements is ambiguous");
  const std::string text = "bool(" + session.operand_text(self) + ")";
  if (!session.is_dynamic(self)) {
    stack->emplace_back(session.evaluate(self).is_nonzero());
    return;
  }
  const at::Tensor truth = self.scalar_type() == at::kBool ? self : at::ne(self, 0);
  const at::Tensor value = sync_scalar(session, SyncKind::kTruth, truth, "bool", text);
  stack->emplace_back(value.item<bool>());
}

void equal(CaptureSession& session, const at::Tensor& a, const at::Tensor& b,
           torch::jit::Stack* stack) {
  TORCH_CHECK(a.scalar_type() == b.scalar_type(), "torch.equal of dtypes ", a.scalar_type(),
              " and ", b.scalar_type());
  if (a.sizes() != b.sizes()) {
    stack->emplace_back(false);
    return;
  }
  if (!session.is_dynamic(a) && !session.is_dynamic(b)) {
    stack->emplace_back(at::equal(session.evaluate(a), session.evaluate(b)));
    return;
  }
  const std::string text =
      "equal(" + session.operand_text(a) + ", " + session.operand_text(b) + ")";
  const at::Tensor all = at::all(at::eq(a, b));
  const at::Tensor value = sync_scalar(session, SyncKind::kTruth, all, "equal", text);
  stack->emplace_back(value.item<bool>());
}

/// isclose made of functional operators only: LibTorch's own writes in place. The difference of
/// integers is taken in the default type, as in eager, so that it neither wraps nor is unsigned.
at::Tensor is_close(const at::Tensor& a, const at::Tensor& b, double rtol, double atol,
                    bool equal_nan) {
  const bool exact = rtol == 0 && atol == 0;
  const bool whole = !exact && at::isIntegralType(a.scalar_type(), true);
  const auto type = whole ? at::get_default_dtype_as_scalartype() : a.scalar_type();
  const at::Tensor x = whole ? at::_to_copy(a, type) : a, y = whole ? at::_to_copy(b, type) : b;
  const at::Tensor off = at::abs(at::sub(x, y));
  const at::Tensor allowed = at::add(at::abs(at::mul(y, rtol)), atol);
  const at::Tensor near =
      at::logical_and(at::le(off, allowed), at::lt(off, std::numeric_limits<double>::infinity()));
  at::Tensor close = at::logical_or(at::eq(a, b), near);
  if (equal_nan) close = at::logical_or(close, at::logical_and(at::ne(a, a), at::ne(b, b)));
  return close;
}

/// torch.allclose(a, b, rtol, atol, equal_nan)
void all_close(CaptureSession& session, const std::vector<c10::IValue>& args,
               torch::jit::Stack* stack) {
  const at::Tensor a = args[0].toTensor(), b = args[1].toTensor();
  const at::Tensor close = is_close(a, b, args[2].toDouble(), args[3].toDouble(), args[4].toBool());
  const std::string text =
      "allclose(" + session.operand_text(a) + ", " + session.operand_text(b) + ")";
  const at::Tensor value = sync_scalar(session, SyncKind::kTruth, at::all(close), "allclose", text);
  stack->emplace_back(value.item<bool>());
}

/// True for a call that brings a lazy tensor to the CPU.
bool leaves_device(const c10::OperatorHandle& op, const std::vector<c10::IValue>& args) {
  if (op.operator_name().name != "aten::_to_copy" || !is_lazy(args[0].toTensor())) return false;
  for (const c10::IValue& arg : args) {
    if (arg.isDevice() && !arg.toDevice().is_lazy()) return true;
  }
  return false;
}

void to_cpu(CaptureSession& session, const std::vector<c10::IValue>& args,
            torch::jit::Stack* stack) {
  at::Tensor self = args[0].toTensor();
  const auto dtype = args[1].toOptional<at::ScalarType>();
  const std::string text = "to_cpu(" + session.operand_text(self) + ")";
  if (dtype && *dtype != self.scalar_type()) self = at::_to_copy(self, *dtype);
  if (!session.is_dynamic(self)) {
    stack->emplace_back(session.evaluate(self).clone());
    return;
  }
  SyncRecord record = new_record(session, SyncKind::kTensor, self);
  record.what = "to cpu";
  record.text = text;
  const auto compute = [&] { return Tensors{session.evaluate(self)}; };
  stack->emplace_back(session.log().sync(std::move(record), compute).front());
}

/// The condition is pushed to the position of the message: (self), (self, assert_msg), (…,
/// dep_token).
void assert_true(CaptureSession& session, const at::Tensor& self, const std::string& text) {
  TORCH_CHECK(self.numel() == 1, "an assertion of a tensor with ", self.numel(), " elements");
  const auto& is_caught = session.request().is_caught;
  TORCH_CHECK(holds(session, self, text, is_caught && is_caught()), text);
}

/// torch.linalg raises if a factorization's info is not 0: this is a check, except in programs that
/// then try something else.
void check_factorization(CaptureSession& session, const at::Tensor& info, const std::string& api) {
  const bool positive = api.find("cholesky") != std::string::npos;
  const std::string text =
      api + (positive ? ": the input is positive-definite" : ": the input matrix is not singular");
  const CaptureRequest& request = session.request();
  const bool caught = request.may_catch || (request.is_caught && request.is_caught());
  const bool passed = holds(session, at::all(at::eq(info, 0)), text, caught);
  TORCH_CHECK_LINALG(
      passed, api,
      positive ? ": the input is not positive-definite" : ": the input matrix is singular");
}

}  // namespace

bool holds(CaptureSession& session, const at::Tensor& condition, const std::string& text,
           bool caught) {
  const auto value = [&] { return session.evaluate(condition).reshape({}).ne(0); };
  if (!session.is_dynamic(condition)) return value().item<bool>();
  SyncRecord record = new_record(session, SyncKind::kTruth, as_scalar(at::ne(condition, 0)));
  record.kind = SyncKind::kTruth;
  record.what = "assert";
  record.text = text;
  const auto compute = [&] { return Tensors{value()}; };
  const bool passed = session.log().sync(std::move(record), compute).front().item<bool>();
  session.log().syncs().back().check = passed && !caught;
  return passed;
}

PeekScope::PeekScope() : outer_(t_peeking) { t_peeking = true; }
PeekScope::~PeekScope() { t_peeking = outer_; }

bool record_assertion(CaptureSession& session, const c10::OperatorHandle& op,
                      torch::jit::Stack* stack) {
  const std::string& name = op.operator_name().name;
  if (name == "aten::_linalg_check_errors") {
    const auto args = torch::jit::pop(*stack, op.schema().arguments().size());
    check_factorization(session, args[0].toTensor(), args[1].toStringRef());
    return true;
  }
  const bool functional = name == "aten::_functional_assert_async";
  if (name != "aten::_assert_async" && !functional) return false;
  const auto args = torch::jit::pop(*stack, op.schema().arguments().size());
  const at::Tensor self = args[0].toTensor();
  const bool told = args.size() > 1 && args[1].isString() && !args[1].toStringRef().empty();
  assert_true(session, self, told ? args[1].toStringRef() : "assert " + session.operand_text(self));
  if (functional) stack->push_back(args.back());
  return true;
}

bool record_sync(CaptureSession& session, const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const std::string& name = op.operator_name().name;
  const size_t count = op.schema().arguments().size();
  const bool scalar = name == "aten::_local_scalar_dense", truth = name == "aten::is_nonzero";
  const bool two = name == "aten::equal", near = name == "aten::allclose";
  if (!scalar && !truth && !two && !near) {
    const std::vector<c10::IValue> args(stack->end() - static_cast<std::ptrdiff_t>(count),
                                        stack->end());
    if (!leaves_device(op, args)) return false;
  }
  const std::vector<c10::IValue> args = torch::jit::pop(*stack, count);
  const at::Tensor self = args[0].toTensor();
  if (scalar) {
    item(session, self, stack);
  } else if (truth) {
    is_nonzero(session, self, stack);
  } else if (two) {
    equal(session, self, args[1].toTensor(), stack);
  } else if (near) {
    all_close(session, args, stack);
  } else {
    to_cpu(session, args, stack);
  }
  return true;
}

int64_t sync_count(CaptureSession& session, const at::Tensor& count, const std::string& what,
                   const std::string& text) {
  return sync_scalar(session, SyncKind::kTruth, count, what, text).item<int64_t>();
}

}  // namespace lazyrt
