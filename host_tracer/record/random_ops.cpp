#include "host_tracer/record/random_ops.h"

#include <ATen/ATen.h>

#include <unordered_set>

#include "host_tracer/record/capture_session.h"
#include "host_tracer/record/lazy_backend.h"
#include "host_tracer/record/op_args.h"

namespace lazyrt {
namespace {

constexpr const char* kCallEval = "call model.eval() before the export";
constexpr const char* kPassIn =
    "draw the numbers outside of the model and pass them in as an input";

/// The place of an argument, or -1.
int place_of(const c10::OperatorHandle& op, const char* name) {
  const auto& arguments = op.schema().arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].name() == name) return static_cast<int>(i);
  }
  return -1;
}

const c10::IValue* find(const c10::OperatorHandle& op, const std::vector<c10::IValue>& args,
                        const char* name) {
  const int place = place_of(op, name);
  return place < 0 ? nullptr : &args[static_cast<size_t>(place)];
}

bool is_false(const c10::IValue* flag) { return flag && flag->isBool() && !flag->toBool(); }
bool is_zero(const c10::IValue* number) {
  return number && number->isDouble() && number->toDouble() == 0.0;
}

bool is_dropout(const c10::OperatorHandle& op) {
  return op.operator_name().name.find("dropout") != std::string::npos;
}

/// Whether an operator tagged as random draws nothing as it is called here.
bool is_quiet(const c10::OperatorHandle& op, const std::vector<c10::IValue>& args) {
  if (is_false(find(op, args, "train")) || is_false(find(op, args, "training"))) return true;
  // leave_training_mode() handles attention and recurrent layers.
  if (find(op, args, "dropout_p") || find(op, args, "dropout")) return true;
  return is_dropout(op) && is_zero(find(op, args, "p"));
}

/// True if the drawn numbers depend on the operand's shape, not on its values.
bool ignores_values(const c10::OperatorHandle& op) {
  static const std::unordered_set<std::string> names = {
      "aten::bernoulli.p", "aten::cauchy",      "aten::exponential",
      "aten::geometric",   "aten::log_normal",  "aten::normal_functional",
      "aten::random",      "aten::random.from", "aten::random.to",
      "aten::uniform",
  };
  const std::string& name = op.operator_name().name;
  const bool like = name.size() > 5 && name.compare(name.size() - 5, 5, "_like") == 0;
  return like || names.count(full_name(op)) != 0;
}

/// Gives the finding's message.
std::string report_random(CaptureSession& session, const c10::OperatorHandle& op,
                          const std::string& why, const char* suggestion) {
  Finding finding;
  finding.severity = Severity::kError;
  finding.id = "random";
  finding.message = op.operator_name().name + source_suffix() + " draws random numbers" + why +
                    "; those of this capture are in the graph";
  finding.suggestion = suggestion;
  std::string message = finding.message;
  session.report(std::move(finding));
  return message;
}

/// y = x * (mask / (1 - p)), with the mask drawn now.
void native_dropout(CaptureSession& session, const std::vector<c10::IValue>& args,
                    const std::string& finding, torch::jit::Stack* stack) {
  const at::Tensor x = args[0].toTensor();
  const double keep = 1.0 - args[1].toDouble();
  const auto options = at::TensorOptions().dtype(at::kFloat).device(at::kCPU);
  const at::Tensor mask = at::empty(x.sizes(), options).bernoulli_(keep);
  const at::Tensor scale = (mask * (keep == 0 ? 0.0 : 1.0 / keep)).to(x.scalar_type());
  stack->push_back(at::mul(x, session.add_constant(scale, finding)));
  stack->push_back(session.add_constant(mask.to(at::kBool), finding));
}

void draw(CaptureSession& session, const c10::OperatorHandle& op, std::vector<c10::IValue> args,
          const std::string& finding, torch::jit::Stack* stack) {
  const bool shape_only = ignores_values(op);
  torch::jit::Stack call;
  for (c10::IValue& arg : args) {
    map_tensors(arg, [&](const at::Tensor& t) {
      if (!shape_only) return session.evaluate(t).clone();
      return at::zeros(t.sizes(), at::TensorOptions().dtype(t.scalar_type()).device(at::kCPU));
    });
    call.push_back(arg.isDevice() ? c10::IValue(at::Device(at::kCPU)) : arg);
  }
  op.callBoxed(call);
  for (c10::IValue& result : call) {
    map_tensors(result, [&](const at::Tensor& t) { return session.add_constant(t, finding); });
    stack->push_back(result);
  }
}

void drop_dropout(CaptureSession& session, const c10::OperatorHandle& op,
                  std::vector<c10::IValue>& args, const char* name) {
  const int place = place_of(op, name);
  if (place < 0) return;
  c10::IValue& p = args[static_cast<size_t>(place)];
  if (!p.isDouble() || p.toDouble() == 0.0 || is_false(find(op, args, "train"))) return;
  report_random(session, op, " (dropout in training mode)", kCallEval);
  p = 0.0;
}

bool is_norm(const std::string& name) {
  return name == "aten::batch_norm" || name == "aten::instance_norm" ||
         name == "aten::native_batch_norm" || name == "aten::_native_batch_norm_legit_functional";
}

/// Arguments 3 and 4 are the running mean and variance; 5 says whether the batch's own are used.
/// Writes that functionalization sees are state; others are left out.
void report_training_norm(CaptureSession& session, const c10::OperatorHandle& op,
                          std::vector<c10::IValue>& args) {
  const bool keeps = args[3].isTensor() && args[3].toTensor().defined();
  if (!args[5].toBool() || !keeps) return;
  const bool state = op.operator_name().name == "aten::_native_batch_norm_legit_functional";
  Finding finding;
  finding.severity = state ? Severity::kWarning : Severity::kError;
  finding.id = "training-mode";
  finding.message = "a norm" + source_suffix() +
                    " is in training mode: it normalizes by the batch and updates its running "
                    "statistics, which ";
  finding.message += state ? "are state of the bundle" : "the bundle does not: they are no buffers";
  finding.suggestion = kCallEval;
  session.report(std::move(finding));
  if (state) return;
  args[3] = c10::IValue(at::Tensor());
  args[4] = c10::IValue(at::Tensor());
}

}  // namespace

bool record_random(CaptureSession& session, const c10::OperatorHandle& op,
                   torch::jit::Stack* stack) {
  if (!op.hasTag(at::Tag::nondeterministic_seeded)) return false;
  const size_t count = op.schema().arguments().size();
  const std::vector<c10::IValue> args(stack->end() - static_cast<std::ptrdiff_t>(count),
                                      stack->end());
  if (is_quiet(op, args)) return false;
  torch::jit::drop(*stack, count);
  const bool dropout = is_dropout(op);
  const std::string finding = report_random(session, op, dropout ? " (it is in training mode)" : "",
                                            dropout ? kCallEval : kPassIn);
  if (op.operator_name().name == "aten::native_dropout") {
    native_dropout(session, args, finding, stack);
  } else {
    draw(session, op, args, finding, stack);
  }
  return true;
}

void leave_training_mode(CaptureSession& session, const c10::OperatorHandle& op,
                         std::vector<c10::IValue>& args) {
  if (is_norm(op.operator_name().name)) return report_training_norm(session, op, args);
  drop_dropout(session, op, args, "dropout_p");
  drop_dropout(session, op, args, "dropout");
}

}  // namespace lazyrt
