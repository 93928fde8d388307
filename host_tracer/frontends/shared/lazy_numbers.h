#pragma once

// Numbers of a file's program that stay in the graph: where the program has an int, a float or a
// bool, an interpreter has a 0-dim lazy tensor (int64, float64, bool), until something needs the
// number.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>

#include <optional>
#include <string>
#include <vector>

namespace lazyrt {

/// True for a type whose values are numbers: int, float, bool, Scalar, and optional ones.
bool is_number_type(const c10::TypePtr& type);

/// The number of a lazy tensor of one element. REQUIRES: `tensor` is lazy and not complex.
at::Tensor lazy_number(const at::Tensor& tensor);

/// The number as one of `type` (int: towards zero, float, Scalar: as it is).
at::Tensor number_as(const at::Tensor& number, const c10::TypePtr& type);

/// Whose arithmetic to use: they differ in floating // and %, in max and min with NaN, and in where
/// they raise.
enum class NumberRules { kPython, kTorchScript };

/// What an operator or function of that name in Python ("add", "floordiv", "sqrt", …) gives for
/// numbers some of which are lazy: a lazy number, of comparisons a lazy bool. Nothing: it takes
/// plain ones.
std::optional<at::Tensor> compute_number(NumberRules rules, const std::string& name,
                                         const std::vector<c10::IValue>& numbers);

/// The plain number: it is read on the host here, and guarded.
c10::IValue plain_number(const at::Tensor& number);

/// A lazy number as an operand of the call beside its tensors: it has no say in the type of the
/// result. `numbers`: the places in `stack` where numbers stand for tensors. `stack` has the
/// arguments of `schema` in full.
at::Tensor number_beside(const at::Tensor& number, const c10::FunctionSchema& schema,
                         const torch::jit::Stack& stack, const std::vector<size_t>& numbers);

/// Calls the operator with lazy numbers in the places of Scalars, by the overload that takes
/// tensors there. False: there is none, nothing happened. `stack` has the arguments of `schema` in
/// full.
bool call_with_numbers(const c10::FunctionSchema& schema, torch::jit::Stack* stack);

}  // namespace lazyrt
