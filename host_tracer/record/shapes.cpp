#include "host_tracer/record/shapes.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/Exception.h>

#include "host_tracer/record/op_args.h"
#include "host_tracer/record/shape_rules.h"

namespace lazyrt {
namespace {

using torch::lazy::Shape;

/// The largest computation done only to find a shape: with this many elements in all operands, even
/// a cubic operator on square matrices stays near one million operations.
constexpr int64_t kMaxElementsOnCpu = 10'000;

ResultShape tensor_result(const std::optional<Shape>& shape) {
  ResultShape result;
  result.tensors.push_back(shape);
  return result;
}

std::optional<Shape> dense_shape(const at::Tensor& t) {
  if (!t.defined()) return std::nullopt;
  TORCH_CHECK(t.layout() == at::kStrided, "the result is a ", t.layout(),
              " tensor; only dense tensors can be captured");
  return Shape(t.scalar_type(), t.sizes());
}

ResultShape to_result(const c10::IValue& value) {
  if (value.isTensor()) return tensor_result(dense_shape(value.toTensor()));
  ResultShape result;
  if (value.isTensorList()) {
    result.is_list = true;
    for (const at::Tensor& t : value.toTensorVector()) result.tensors.push_back(dense_shape(t));
    return result;
  }
  result.is_tensor = false;
  result.plain = value;
  return result;
}

at::Tensor stand_in(const at::Tensor& t, at::DeviceType device) {
  const auto options = at::TensorOptions().dtype(t.scalar_type()).device(device);
  if (t.unsafeGetTensorImpl()->is_wrapped_number()) {
    // A CPU tensor stays on the CPU: meta kernels written in Python get it as a number.
    if (t.device().is_cpu()) return t;
    at::Tensor number = at::zeros({}, options.device(at::kCPU));
    number.unsafeGetTensorImpl()->set_wrapped_number(true);
    return number;
  }
  return device == at::kMeta ? at::empty(t.sizes(), options) : at::zeros(t.sizes(), options);
}

/// Runs the operator on stand-ins of its operands on a device.
std::vector<ResultShape> run_on(const c10::OperatorHandle& op, const std::vector<c10::IValue>& args,
                                at::DeviceType device) {
  torch::jit::Stack stack;
  for (const c10::IValue& arg : args) {
    c10::IValue copy = arg.isDevice() ? c10::IValue(at::Device(device)) : arg;
    map_tensors(copy, [&](const at::Tensor& t) { return stand_in(t, device); });
    stack.push_back(std::move(copy));
  }
  op.callBoxed(stack);
  std::vector<ResultShape> results;
  for (const c10::IValue& value : stack) results.push_back(to_result(value));
  return results;
}

int64_t total_elements(const std::vector<c10::IValue>& args) {
  int64_t total = 0;
  for (const c10::IValue& arg : args) {
    c10::IValue copy = arg;
    map_tensors(copy, [&](const at::Tensor& t) {
      total += t.numel();
      return t;
    });
  }
  return total;
}

std::vector<ResultShape> run_rule(ShapeRule rule, const c10::OperatorHandle& op,
                                  const std::vector<c10::IValue>& args) {
  std::vector<ResultShape> results;
  for (const auto& shape : rule(RuleArgs(op, args))) results.push_back(tensor_result(shape));
  return results;
}

std::vector<ResultShape> run_small(const c10::OperatorHandle& op,
                                   const std::vector<c10::IValue>& args) {
  TORCH_CHECK(total_elements(args) <= kMaxElementsOnCpu, c10::toString(op.operator_name()),
              " has no shape rule: LibTorch has no meta kernel for it and its operands are too "
              "large to try it on the CPU");
  return run_on(op, args, at::kCPU);
}

}  // namespace

std::vector<ResultShape> infer_shapes(const c10::OperatorHandle& op,
                                      const std::vector<c10::IValue>& args, ShapeStats& stats) {
  if (const ShapeRule rule = find_shape_rule(op)) {
    auto results = run_rule(rule, op, args);
    ++stats.rule;
    return results;
  }
  try {
    auto results = run_on(op, args, at::kMeta);
    ++stats.meta;
    return results;
  } catch (const c10::NotImplementedError&) {
    // There is no meta kernel for it, or for an operator that it calls.
  }
  auto results = run_small(op, args);
  ++stats.cpu;
  return results;
}

}  // namespace lazyrt
