#include "host_tracer/frontends/shared/lazy_numbers.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "host_tracer/record/capture.h"
#include "host_tracer/record/number_checks.h"

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

constexpr int kBitsOfDouble = 53;
constexpr int kBitsOfSums = 62;  ///< one less than the graph's integers have

/// Python's integers are unbounded, those of the graph are not. `real`: one of them as a double.
void check_whole(const at::Tensor& real, int bits) {
  require(at::le(at::abs(real), std::ldexp(1.0, bits)),
          "a whole number is within 2**" + std::to_string(bits));
}

using Compute = at::Tensor (*)(const Tensors&);

/// By name. Functions that take another number of operands are not known here.
struct NumberFunction {
  size_t operands;
  Compute compute;
};
using Functions = std::unordered_map<std::string, NumberFunction>;

at::Tensor whole(const at::Tensor& t, at::Tensor (*round)(const at::Tensor&)) {
  return is_real(t) ? round(t).to(at::kLong) : t;
}

at::Tensor sum(const Tensors& n) { return at::add(n[0], n[1]); }
at::Tensor difference(const Tensors& n) { return at::sub(n[0], n[1]); }
at::Tensor product(const Tensors& n) { return at::mul(n[0], n[1]); }
at::Tensor negative(const Tensors& n) { return at::neg(n[0]); }
at::Tensor magnitude(const Tensors& n) { return at::abs(n[0]); }

template <Compute kCompute>
at::Tensor within_bounds(const Tensors& n) {
  const at::Tensor made = kCompute(n);
  if (is_real(made)) return made;
  Tensors reals;
  for (const at::Tensor& t : n) reals.push_back(as_double(t));
  check_whole(kCompute(reals), kBitsOfSums);
  return made;
}

at::Tensor real_quotient(const Tensors& n) { return at::div(as_double(n[0]), as_double(n[1])); }

/// What Python and TorchScript compute alike.
const Functions& common_functions() {
  static const Functions table = {
      {"pos", {1, [](const Tensors& n) { return n[0]; }}},
      {"eq", {2, [](const Tensors& n) { return at::eq(n[0], n[1]); }}},
      {"ne", {2, [](const Tensors& n) { return at::ne(n[0], n[1]); }}},
      {"lt", {2, [](const Tensors& n) { return at::lt(n[0], n[1]); }}},
      {"le", {2, [](const Tensors& n) { return at::le(n[0], n[1]); }}},
      {"gt", {2, [](const Tensors& n) { return at::gt(n[0], n[1]); }}},
      {"ge", {2, [](const Tensors& n) { return at::ge(n[0], n[1]); }}},
      {"float", {1, [](const Tensors& n) { return as_double(n[0]); }}},
      {"int", {1, [](const Tensors& n) { return whole(n[0], at::trunc); }}},
      {"trunc", {1, [](const Tensors& n) { return whole(n[0], at::trunc); }}},
      {"floor", {1, [](const Tensors& n) { return whole(n[0], at::floor); }}},
      {"ceil", {1, [](const Tensors& n) { return whole(n[0], at::ceil); }}},
      {"round", {1, [](const Tensors& n) { return at::round(as_double(n[0])); }}},
      {"sqrt", {1, [](const Tensors& n) { return at::sqrt(as_double(n[0])); }}},
      {"exp", {1, [](const Tensors& n) { return at::exp(as_double(n[0])); }}},
      {"log", {1, [](const Tensors& n) { return at::log(as_double(n[0])); }}},
      {"sin", {1, [](const Tensors& n) { return at::sin(as_double(n[0])); }}},
      {"cos", {1, [](const Tensors& n) { return at::cos(as_double(n[0])); }}},
      {"tanh", {1, [](const Tensors& n) { return at::tanh(as_double(n[0])); }}},
      {"not", {1, [](const Tensors& n) { return at::eq(n[0], 0); }}},
      {"bool", {1, [](const Tensors& n) { return at::ne(n[0], 0); }}},
  };
  return table;
}

/// A remainder of zero has the sign of the divisor.
at::Tensor python_rest(const Tensors& n) {
  const at::Tensor rest = at::remainder(n[0], check_divisor(n[1]));
  if (!is_real(rest)) return rest;
  return at::where(at::eq(rest, 0), at::copysign(at::zeros_like(rest), n[1]), rest);
}

const Functions& python_functions() {
  static const Functions table = {
      {"add", {2, within_bounds<sum>}},
      {"sub", {2, within_bounds<difference>}},
      {"mul", {2, within_bounds<product>}},
      {"neg", {1, within_bounds<negative>}},
      {"abs", {1, within_bounds<magnitude>}},
      {"floordiv",
       {2, [](const Tensors& n) { return at::div(n[0], check_divisor(n[1]), "floor"); }}},
      {"mod", {2, python_rest}},
      {"truediv",
       {2,
        [](const Tensors& n) {
          check_divisor(n[1]);
          for (const at::Tensor& t : n) {
            if (!is_real(t)) check_whole(as_double(t), kBitsOfDouble);
          }
          return real_quotient(n);
        }}},
      {"min", {2, [](const Tensors& n) { return at::where(at::lt(n[1], n[0]), n[1], n[0]); }}},
      {"max", {2, [](const Tensors& n) { return at::where(at::gt(n[1], n[0]), n[1], n[0]); }}},
  };
  return table;
}

/// As torch/csrc/jit/runtime/register_prim_ops.cpp has them.
const Functions& script_functions() {
  static const Functions table = {
      {"add", {2, sum}},
      {"sub", {2, difference}},
      {"mul", {2, product}},
      {"neg", {1, negative}},
      {"abs", {1, magnitude}},
      {"floordiv",
       {2,
        [](const Tensors& n) {
          return is_real(n[0]) ? at::floor(at::div(n[0], n[1]))
                               : at::div(n[0], check_divisor(n[1]), "floor");
        }}},
      {"mod",
       {2,
        [](const Tensors& n) {
          return is_real(n[0]) ? at::fmod(at::add(n[1], at::fmod(n[0], n[1])), n[1])
                               : at::remainder(n[0], check_divisor(n[1]));
        }}},
      {"truediv", {2, real_quotient}},
      {"pow", {2, [](const Tensors& n) { return at::pow(as_double(n[0]), as_double(n[1])); }}},
      {"log",
       {2,
        [](const Tensors& n) {
          return at::div(at::log(as_double(n[0])), at::log(as_double(n[1])));
        }}},
      {"min", {2, [](const Tensors& n) { return at::where(at::lt(n[0], n[1]), n[0], n[1]); }}},
      {"max", {2, [](const Tensors& n) { return at::where(at::gt(n[0], n[1]), n[0], n[1]); }}},
  };
  return table;
}

Compute find_function(NumberRules rules, const std::string& name, size_t operands) {
  const Functions& own = rules == NumberRules::kPython ? python_functions() : script_functions();
  for (const Functions* table : {&own, &common_functions()}) {
    const auto found = table->find(name);
    if (found != table->end() && found->second.operands == operands) return found->second.compute;
  }
  return nullptr;
}

/// For two truth values: the bitwise and, or.
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

/// The tensors of a call, without numbers in the places of tensors.
Tensors tensor_operands(const c10::FunctionSchema& schema, const torch::jit::Stack& stack,
                        const std::vector<size_t>& numbers) {
  Tensors tensors;
  for (size_t i = 0; i < stack.size(); ++i) {
    const bool tensor = is_tensor_type(schema.arguments()[i].type()) && stack[i].isTensor();
    const bool number = std::find(numbers.begin(), numbers.end(), i) != numbers.end();
    if (!tensor || number || !stack[i].toTensor().defined()) continue;
    const at::Tensor& t = stack[i].toTensor();
    if (!t.unsafeGetTensorImpl()->is_wrapped_number()) tensors.push_back(t);
  }
  return tensors;
}

/// Whether the call casts its number into its first tensor's type.
bool fills(const c10::FunctionSchema& schema) {
  static const std::unordered_set<std::string> names = {"aten::fill",        "aten::fill_",
                                                        "aten::masked_fill", "aten::masked_fill_",
                                                        "aten::index_fill",  "aten::index_fill_"};
  return names.count(schema.name()) != 0;
}

/// Whether the call gives floating values also where all its operands are whole.
bool gives_reals(const c10::FunctionSchema& schema, const torch::jit::Stack& stack) {
  static const std::unordered_set<std::string> names = {
      "aten::div",         "aten::div_",         "aten::divide", "aten::divide_",
      "aten::true_divide", "aten::true_divide_", "aten::xlogy",  "aten::xlogy_"};
  if (schema.name().starts_with("aten::special_")) return true;
  if (!names.count(schema.name())) return false;
  const auto mode = schema.argumentIndexWithName("rounding_mode");
  return !mode || stack.at(static_cast<size_t>(*mode)).isNone();
}

/// ATen takes a root where the exponent, a number, says so: of -0 and -inf that is something else.
bool raise_to_number(const c10::FunctionSchema& schema, torch::jit::Stack* stack) {
  const bool in_double = schema.name().starts_with("aten::float_power");
  if (schema.name() != "aten::pow" && schema.name() != "aten::pow_" && !in_double) return false;
  if (!(*stack)[0].isTensor() || !is_lazy_number((*stack)[1])) return false;
  const at::Tensor self = (*stack)[0].toTensor(), number = (*stack)[1].toTensor();
  if (!is_real(self) || !is_real(number)) return false;
  const at::Tensor base = in_double ? as_double(self) : self;
  const at::Tensor power = at::pow(base, number.to(base.scalar_type()));
  const bool takes_roots = base.scalar_type() != at::kHalf;
  const at::Tensor made = takes_roots
                              ? at::where(at::eq(number, 0.5), at::sqrt(base),
                                          at::where(at::eq(number, -0.5), at::rsqrt(base), power))
                              : power;
  const bool in_place = schema.is_mutable();
  if (in_place) self.copy_(made);
  stack->clear();
  stack->emplace_back(in_place ? self : made);
  return true;
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
  TORCH_CHECK(!tensor.is_complex(), "a complex number cannot stay in the graph");
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

std::optional<at::Tensor> compute_number(NumberRules rules, const std::string& name,
                                         const std::vector<IValue>& numbers) {
  Tensors tensors;
  for (const IValue& value : numbers) {
    const bool real = value.isScalar() && !value.isComplexDouble();
    if (!value.isTensor() && !real) return std::nullopt;
    tensors.push_back(tensor_of(value));
  }
  if (auto truth = compute_truth(name, tensors)) return truth;
  const Compute compute = find_function(rules, name, tensors.size());
  if (!compute) return std::nullopt;
  unify(tensors);
  return compute(tensors);
}

namespace {

bool is_half(const at::Tensor& t) {
  return t.scalar_type() == at::kHalf || t.scalar_type() == at::kBFloat16;
}

/// Whether eager keeps a number in f32 next to 16-bit floats.
bool keeps_f32(const c10::FunctionSchema& schema) {
  static const std::unordered_set<std::string> names = {
      "aten::mul",         "aten::multiply", "aten::div",         "aten::divide",
      "aten::true_divide", "aten::lerp",     "aten::floor_divide"};
  std::string name = schema.name();
  if (!name.empty() && name.back() == '_') name.pop_back();
  return names.count(name) != 0;
}

}  // namespace

at::Tensor number_beside(const at::Tensor& number, const c10::FunctionSchema& schema,
                         const torch::jit::Stack& stack, const std::vector<size_t>& numbers) {
  if (schema.name().starts_with("aten::float_power")) return number.to(at::kDouble);
  const Tensors tensors = tensor_operands(schema, stack, numbers);
  if (fills(schema) && !tensors.empty()) {
    require_fits(number, tensors[0].scalar_type());
    return number.to(tensors[0].scalar_type());
  }
  for (const at::Tensor& t : tensors) {
    if (at::isComplexType(t.scalar_type())) {
      return number.to(at::toRealValueType(t.scalar_type()));
    }
    if (!is_real(t)) continue;
    if (!is_half(t) || !keeps_f32(schema)) return number.to(t.scalar_type());
    const bool alone = std::any_of(tensors.begin(), tensors.end(),
                                   [](const at::Tensor& of) { return of.dim() == 0; });
    TORCH_CHECK(!alone && schema.name() != "aten::lerp", schema.name(),
                " of 16-bit floats with a number of the program is not followed here: eager has "
                "that number in float32; compute in float32 (x.float()) and round the result");
    return number.to(at::kFloat);
  }
  if (is_real(number) || gives_reals(schema, stack)) {
    return number.to(c10::typeMetaToScalarType(at::get_default_dtype()));
  }
  for (const at::Tensor& t : tensors) {
    if (t.scalar_type() != at::kBool) return number.to(t.scalar_type());
  }
  return number;
}

IValue plain_number(const at::Tensor& number) { return number.item(); }

bool call_with_numbers(const c10::FunctionSchema& schema, torch::jit::Stack* stack) {
  if (raise_to_number(schema, stack)) return true;
  const auto op = overload_with_tensors(schema, *stack);
  if (!op) return false;
  const torch::jit::Stack given = *stack;
  for (size_t i = 0; i < stack->size(); ++i) {
    const bool number = is_scalar_type(schema.arguments()[i].type()) &&
                        is_tensor_type(op->schema().arguments()[i].type());
    if (number && !(*stack)[i].isNone()) {
      (*stack)[i] = number_beside(tensor_of((*stack)[i]), schema, given, {});
    } else if (number) {
      (*stack)[i] = at::Tensor();
    }
  }
  op->callBoxed(stack);
  return true;
}

}  // namespace lazyrt
