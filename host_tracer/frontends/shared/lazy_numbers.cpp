#include "host_tracer/frontends/shared/lazy_numbers.h"

#include <ATen/ATen.h>

#include <unordered_map>

#include "host_tracer/capture/capture.h"

namespace lazyrt {
namespace {

using c10::IValue;
using Tensors = std::vector<at::Tensor>;

bool is_lazy_number(const IValue& value) {
  return value.isTensor() && value.toTensor().defined() && value.toTensor().device().is_lazy() &&
         value.toTensor().dim() == 0;
}

c10::TypePtr without_optional(c10::TypePtr type) {
  while (type->kind() == c10::TypeKind::OptionalType) {
    type = type->castRaw<c10::OptionalType>()->getElementType();
  }
  return type;
}

at::Tensor as_double(const at::Tensor& t) { return t.to(at::kDouble); }

bool is_real(const at::Tensor& t) { return at::isFloatingType(t.scalar_type()); }

/// A plain number as a 0-dim tensor beside lazy ones.
at::Tensor tensor_of(const IValue& value) {
  if (value.isTensor()) return value.toTensor();
  const at::Scalar scalar = value.toScalar();
  return lazyrt::lift(at::scalar_tensor(scalar, at::TensorOptions().dtype(scalar.type())));
}

/// Both whole, or both real: as Python computes.
void unify(Tensors& n) {
  bool any_real = false;
  for (const at::Tensor& t : n) any_real = any_real || is_real(t);
  for (at::Tensor& t : n) t = any_real ? as_double(t) : t.to(at::kLong);
}

at::Tensor check_divisor(const at::Tensor& divisor) {
  require(at::ne(divisor, 0), "a divisor is not zero");
  return divisor;
}

using Compute = at::Tensor (*)(const Tensors&);

const std::unordered_map<std::string, Compute>& functions() {
  static const std::unordered_map<std::string, Compute> table = {
      {"add", [](const Tensors& n) { return at::add(n[0], n[1]); }},
      {"sub", [](const Tensors& n) { return at::sub(n[0], n[1]); }},
      {"mul", [](const Tensors& n) { return at::mul(n[0], n[1]); }},
      {"neg", [](const Tensors& n) { return at::neg(n[0]); }},
      {"pos", [](const Tensors& n) { return n[0]; }},
      {"abs", [](const Tensors& n) { return at::abs(n[0]); }},
      {"floordiv", [](const Tensors& n) { return at::div(n[0], check_divisor(n[1]), "floor"); }},
      {"mod", [](const Tensors& n) { return at::remainder(n[0], check_divisor(n[1])); }},
      {"truediv",
       [](const Tensors& n) { return at::div(as_double(n[0]), as_double(check_divisor(n[1]))); }},
      {"min", [](const Tensors& n) { return at::minimum(n[0], n[1]); }},
      {"max", [](const Tensors& n) { return at::maximum(n[0], n[1]); }},
      {"eq", [](const Tensors& n) { return at::eq(n[0], n[1]); }},
      {"ne", [](const Tensors& n) { return at::ne(n[0], n[1]); }},
      {"lt", [](const Tensors& n) { return at::lt(n[0], n[1]); }},
      {"le", [](const Tensors& n) { return at::le(n[0], n[1]); }},
      {"gt", [](const Tensors& n) { return at::gt(n[0], n[1]); }},
      {"ge", [](const Tensors& n) { return at::ge(n[0], n[1]); }},
      {"float", [](const Tensors& n) { return as_double(n[0]); }},
      {"int", [](const Tensors& n) { return at::trunc(as_double(n[0])).to(at::kLong); }},
      {"trunc", [](const Tensors& n) { return at::trunc(as_double(n[0])).to(at::kLong); }},
      {"floor", [](const Tensors& n) { return at::floor(as_double(n[0])).to(at::kLong); }},
      {"ceil", [](const Tensors& n) { return at::ceil(as_double(n[0])).to(at::kLong); }},
      {"round", [](const Tensors& n) { return at::round(as_double(n[0])); }},
      {"sqrt", [](const Tensors& n) { return at::sqrt(as_double(n[0])); }},
      {"exp", [](const Tensors& n) { return at::exp(as_double(n[0])); }},
      {"log", [](const Tensors& n) { return at::log(as_double(n[0])); }},
      {"sin", [](const Tensors& n) { return at::sin(as_double(n[0])); }},
      {"cos", [](const Tensors& n) { return at::cos(as_double(n[0])); }},
      {"tanh", [](const Tensors& n) { return at::tanh(as_double(n[0])); }},
      {"not", [](const Tensors& n) { return at::eq(n[0], 0); }},
      {"bool", [](const Tensors& n) { return at::ne(n[0], 0); }},
  };
  return table;
}

/// Of two truth values the bitwise and, or.
std::optional<at::Tensor> compute_truth(const std::string& name, const Tensors& n) {
  const bool both =
      n.size() == 2 && n[0].scalar_type() == at::kBool && n[1].scalar_type() == at::kBool;
  if (!both) return std::nullopt;
  if (name == "and") return at::logical_and(n[0], n[1]);
  if (name == "or") return at::logical_or(n[0], n[1]);
  return std::nullopt;
}

bool is_scalar_type(const c10::TypePtr& type) {
  return without_optional(type)->kind() == c10::TypeKind::NumberType;
}

bool is_tensor_type(const c10::TypePtr& type) {
  return without_optional(type)->kind() == c10::TypeKind::TensorType;
}

/// Whether `other` takes the same arguments, with tensors where the lazy numbers are.
bool takes(const c10::FunctionSchema& other, const c10::FunctionSchema& schema,
           const torch::jit::Stack& stack) {
  if (other.arguments().size() != schema.arguments().size()) return false;
  for (size_t i = 0; i < stack.size(); ++i) {
    const c10::TypePtr &a = schema.arguments()[i].type(), &b = other.arguments()[i].type();
    const bool lazy = is_number_type(a) && is_lazy_number(stack[i]);
    const bool fits = is_scalar_type(a) && is_tensor_type(b);
    if (lazy ? !fits : (*a != *b && !fits)) return false;
  }
  return true;
}

std::optional<c10::OperatorHandle> overload_with_tensors(const c10::FunctionSchema& schema,
                                                         const torch::jit::Stack& stack) {
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    if (name.name != schema.name()) continue;
    const auto op = dispatcher.findSchema(name);
    if (op && takes(op->schema(), schema, stack)) return op;
  }
  return std::nullopt;
}

Tensors tensor_operands(const c10::FunctionSchema& schema, const torch::jit::Stack& stack) {
  Tensors tensors;
  for (size_t i = 0; i < stack.size(); ++i) {
    const bool tensor = is_tensor_type(schema.arguments()[i].type()) && stack[i].isTensor();
    if (tensor && stack[i].toTensor().defined()) tensors.push_back(stack[i].toTensor());
  }
  return tensors;
}

}  // namespace

bool is_number_type(const c10::TypePtr& type) {
  switch (without_optional(type)->kind()) {
    case c10::TypeKind::NumberType:
    case c10::TypeKind::IntType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::BoolType:
    case c10::TypeKind::SymIntType:
    case c10::TypeKind::SymFloatType:
    case c10::TypeKind::SymBoolType:
      return true;
    default:
      return false;
  }
}

at::Tensor lazy_number(const at::Tensor& tensor) {
  TORCH_CHECK(tensor.numel() == 1, "a tensor with ", tensor.numel(),
              " elements cannot be converted to a number");
  const at::Tensor one = tensor.detach().reshape({}).clone();
  if (one.scalar_type() == at::kBool) return one;
  return one.to(is_real(one) ? at::kDouble : at::kLong);
}

at::Tensor number_as(const at::Tensor& number, const c10::TypePtr& type) {
  const c10::TypeKind kind = without_optional(type)->kind();
  if (kind == c10::TypeKind::FloatType) return number.to(at::kDouble);
  if (kind == c10::TypeKind::IntType) return number.to(at::kLong);
  return number;
}

std::optional<at::Tensor> compute_number(const std::string& name,
                                         const std::vector<IValue>& numbers) {
  Tensors tensors;
  for (const IValue& value : numbers) {
    if (!value.isTensor() && !value.isScalar()) return std::nullopt;
    tensors.push_back(tensor_of(value));
  }
  if (auto truth = compute_truth(name, tensors)) return truth;
  const auto function = functions().find(name);
  if (function == functions().end()) return std::nullopt;
  unify(tensors);
  return function->second(tensors);
}

at::Tensor number_beside(const at::Tensor& number, const Tensors& tensors) {
  for (const at::Tensor& t : tensors) {
    if (is_real(t)) return number.to(t.scalar_type());
  }
  if (is_real(number)) return number.to(c10::typeMetaToScalarType(at::get_default_dtype()));
  for (const at::Tensor& t : tensors) {
    if (t.scalar_type() != at::kBool) return number.to(t.scalar_type());
  }
  return number;
}

IValue plain_number(const at::Tensor& number) { return number.item(); }

bool call_with_numbers(const c10::FunctionSchema& schema, torch::jit::Stack* stack) {
  const auto op = overload_with_tensors(schema, *stack);
  if (!op) return false;
  const Tensors others = tensor_operands(schema, *stack);
  for (size_t i = 0; i < stack->size(); ++i) {
    const bool number = is_scalar_type(schema.arguments()[i].type()) &&
                        is_tensor_type(op->schema().arguments()[i].type());
    if (number && !(*stack)[i].isNone()) {
      (*stack)[i] = number_beside(tensor_of((*stack)[i]), others);
    } else if (number) {
      (*stack)[i] = at::Tensor();
    }
  }
  op->callBoxed(stack);
  return true;
}

}  // namespace lazyrt
