#pragma once

// Shape rules for operators that have no meta kernel in C++ (in Python they are registered there).

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <torch/csrc/lazy/core/shape.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace lazyrt {

/// The call's arguments by schema name.
class RuleArgs {
 public:
  RuleArgs(const c10::OperatorHandle& op, const std::vector<c10::IValue>& args)
      : op_(op), args_(args) {}

  /// The value; throws when the operator has no such argument.
  const c10::IValue& at(const char* name) const;
  at::Tensor tensor(const char* name) const { return at(name).toTensor(); }
  /// Undefined when the argument is None or undefined.
  at::Tensor optional_tensor(const char* name) const;
  std::vector<int64_t> ints(const char* name) const;
  int64_t integer(const char* name) const { return at(name).toInt(); }
  bool boolean(const char* name) const { return at(name).toBool(); }

  /// Returns the arguments with f(tensor) in the place of each tensor.
  std::vector<c10::IValue> map(const std::function<at::Tensor(const at::Tensor&)>& f) const;
  /// The same operator with other values, which have to outlive the result.
  RuleArgs with(const std::vector<c10::IValue>& args) const { return {op_, args}; }

 private:
  const c10::OperatorHandle& op_;
  const std::vector<c10::IValue>& args_;
};

/// Shapes of the returns, in order; nullopt is an undefined tensor.
using RuleResult = std::vector<std::optional<torch::lazy::Shape>>;
using ShapeRule = RuleResult (*)(const RuleArgs&);

/// The rule of an operator by its full name ("aten::where.self"), or nullptr.
ShapeRule find_shape_rule(const std::string& op);
/// The same for an operator; without such a rule and without a meta kernel, the rule of the
/// pointwise function that it names.
ShapeRule find_shape_rule(const c10::OperatorHandle& op);

}  // namespace lazyrt
