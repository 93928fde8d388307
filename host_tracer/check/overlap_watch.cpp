#include "host_tracer/check/overlap_watch.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "host_tracer/record/capture.h"
#include "host_tracer/record/op_args.h"
#include "host_tracer/support/strided_places.h"

namespace lazyrt {
namespace {

constexpr int64_t kLargest = int64_t{1} << 22;  ///< elements: larger tensors are not looked at

thread_local OverlapWatch* t_watch = nullptr;

/// The positions of the tensor's elements in its storage, ascending.
std::vector<int64_t> places_of(const at::Tensor& t) {
  std::vector<int64_t> places =
      strided_places(t.sizes().vec(), t.strides().vec(), t.storage_offset());
  std::sort(places.begin(), places.end());
  return places;
}

bool share_memory(const at::Tensor& a, const at::Tensor& b) {
  return a.has_storage() && b.has_storage() && a.numel() > 0 && b.numel() > 0 &&
         a.storage().is_alias_of(b.storage());
}

bool are_same(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() && a.strides() == b.strides() &&
         a.storage_offset() == b.storage_offset();
}

/// Whether the tensors, which are not the same one, share elements.
bool share_elements(const at::Tensor& a, const at::Tensor& b) {
  if (!share_memory(a, b) || are_same(a, b) || a.numel() > kLargest || b.numel() > kLargest) {
    return false;
  }
  const std::vector<int64_t> x = places_of(a), y = places_of(b);
  for (size_t i = 0, k = 0; i < x.size() && k < y.size();) {
    if (x[i] == y[k]) return true;
    x[i] < y[k] ? ++i : ++k;
  }
  return false;
}

bool is_plain(const at::Tensor& t) {
  return t.defined() && t.layout() == at::kStrided && t.device().is_cpu() && !t.is_quantized();
}

/// The argument that a mutable operator writes, if that is one tensor.
std::optional<size_t> written_of(const c10::FunctionSchema& schema) {
  std::optional<size_t> written;
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::AliasInfo* alias = schema.arguments()[i].alias_info();
    if (alias == nullptr || !alias->isWrite()) continue;
    if (written) return std::nullopt;
    written = i;
  }
  return written;
}

/// Whether an operand shares elements with the written tensor without being the same tensor.
bool reads_what_it_writes(torch::jit::Stack stack, size_t written) {
  const at::Tensor target = stack[written].isTensor() ? stack[written].toTensor() : at::Tensor();
  if (!is_plain(target)) return false;
  bool found = false;
  for (size_t i = 0; i < stack.size(); ++i) {
    if (i == written) continue;
    map_tensors(stack[i], [&](const at::Tensor& t) {
      found = found || (is_plain(t) && share_elements(target, t));
      return t;
    });
  }
  return found;
}

/// The call on other values in the same places, with its operands as they are or as copies.
class Trial {
 public:
  Trial(const c10::OperatorHandle& op, const torch::jit::Stack& stack, size_t written)
      : op_(op), stack_(stack), written_(written) {
    const at::Tensor target = stack[written].toTensor();
    const auto bytes = static_cast<int64_t>(target.storage().nbytes());
    const auto n = bytes / static_cast<int64_t>(target.element_size());
    const bool whole = at::isIntegralType(target.scalar_type(), /*includeBool=*/true);
    const at::Generator numbers = at::detail::createCPUGenerator(1);  // the program's draws stay
    values_ = at::rand({n}, numbers, at::kDouble).add(0.5).mul(whole ? 50 : 1);
    if (target.scalar_type() == at::kBool) values_ = values_.gt(50);
    values_ = values_.to(target.scalar_type());
  }

  /// Returns the written tensor, with copies of its operands or with those that share its memory.
  at::Tensor run(bool own_operands) const {
    const at::Tensor target = stack_[written_].toTensor(), memory = values_.clone();
    torch::jit::Stack stack = stack_;
    for (size_t i = 0; i < stack.size(); ++i) {
      map_tensors(stack[i], [&](const at::Tensor& t) {
        if (!is_plain(t) || !share_memory(t, target) || t.scalar_type() != target.scalar_type()) {
          return t;
        }
        const at::Tensor own = i != written_ && own_operands ? values_.clone() : memory;
        return own.as_strided(t.sizes(), t.strides(), t.storage_offset());
      });
    }
    const at::Tensor made = stack[written_].toTensor();
    op_.callBoxed(stack);
    return made.clone();
  }

 private:
  const c10::OperatorHandle& op_;
  const torch::jit::Stack& stack_;
  size_t written_;
  at::Tensor values_;
};

bool depends_on_order(const c10::OperatorHandle& op, const torch::jit::Stack& stack,
                      size_t written) {
  const at::NoGradGuard no_grad;
  const Trial trial(op, stack, written);
  const at::Tensor a = trial.run(false), b = trial.run(true);
  const at::Tensor same =
      at::isFloatingType(a.scalar_type()) ? at::isclose(a, b, 1e-4, 1e-6, true) : at::eq(a, b);
  return !same.all().item<bool>();
}

}  // namespace

OverlapWatch::OverlapWatch(std::function<Source()> source_of) : source_of_(std::move(source_of)) {
  t_watch = this;
  handle_ = at::addThreadLocalCallback(
      at::RecordFunctionCallback(
          [](const at::RecordFunction& call) -> std::unique_ptr<at::ObserverContext> {
            if (t_watch != nullptr) t_watch->look_at(call);
            return nullptr;
          })
          .needsInputs(true)
          .scopes({at::RecordScope::FUNCTION}));
}

OverlapWatch::~OverlapWatch() {
  at::removeCallback(handle_);
  t_watch = nullptr;
}

void OverlapWatch::look_at(const at::RecordFunction& call) {
  if (looking_ || !found_.empty()) return;
  const auto name = call.operator_name();
  const auto op = name ? c10::Dispatcher::singleton().findSchema(*name) : std::nullopt;
  if (!op || !op->schema().is_mutable()) return;
  const std::optional<size_t> written = written_of(op->schema());
  const torch::jit::Stack stack(call.inputs().begin(), call.inputs().end());
  if (!written || *written >= stack.size() || !reads_what_it_writes(stack, *written)) return;
  looking_ = true;
  try {
    if (depends_on_order(*op, stack, *written)) {
      Source source = current_source();
      if (source.text().empty() && source_of_) source = source_of_();
      const std::string where = source.text();
      found_ = c10::toString(*name) + (where.empty() ? "" : " at " + where);
    }
  } catch (const c10::Error&) {  // a call that raises writes nothing
  }
  looking_ = false;
}

}  // namespace lazyrt
