#include "host_tracer/record/lowering.h"

#include <ATen/FunctionalTensorWrapper.h>
#include <ATen/ops/_native_batch_norm_legit.h>
#include <ATen/ops/instance_norm_native.h>

#include <optional>
#include <string>
#include <vector>

namespace lazyrt {
namespace {

/// The arguments that batch_norm and instance_norm share, in their order.
struct NormCall {
  explicit NormCall(const std::vector<c10::IValue>& args)
      : input(args[0].toTensor()),
        weight(args[1].toOptional<at::Tensor>()),
        bias(args[2].toOptional<at::Tensor>()),
        running_mean(args[3].toOptional<at::Tensor>()),
        running_var(args[4].toOptional<at::Tensor>()),
        by_batch(args[5].toBool()),
        momentum(args[6].toDouble()),
        eps(args[7].toDouble()) {}

  /// An empty batch leaves the statistics as they are.
  bool updates() const {
    const auto functional = [](const std::optional<at::Tensor>& t) {
      return t && t->defined() && at::functionalization::impl::isFunctionalTensor(*t);
    };
    return by_batch && functional(running_mean) && functional(running_var) && input.numel() > 0;
  }

  at::Tensor input;
  std::optional<at::Tensor> weight;
  std::optional<at::Tensor> bias;
  std::optional<at::Tensor> running_mean;
  std::optional<at::Tensor> running_var;
  bool by_batch;
  double momentum;
  double eps;
};

}  // namespace

bool record_training_norm(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const std::string& name = op.operator_name().name;
  const bool of_batch = name == "aten::batch_norm";
  if (!of_batch && name != "aten::instance_norm") return false;
  const size_t count = op.schema().arguments().size();
  NormCall call({stack->end() - static_cast<std::ptrdiff_t>(count), stack->end()});
  if (!call.updates()) return false;
  torch::jit::drop(*stack, count);
  if (of_batch) {
    stack->push_back(std::get<0>(at::_native_batch_norm_legit(call.input, call.weight, call.bias,
                                                              *call.running_mean, *call.running_var,
                                                              true, call.momentum, call.eps)));
  } else {  // a batch_norm over the repeated statistics, whose mean is copied back
    stack->push_back(at::native::instance_norm(call.input, call.weight, call.bias,
                                               call.running_mean, call.running_var, true,
                                               call.momentum, call.eps, false));
  }
  return true;
}

}  // namespace lazyrt
