// Elementwise functions of two operands: arithmetic, comparison, logic.

#include <cmath>
#include <string>

#include "aten/rule_lists.h"

namespace lazyrt {
namespace {

using fb::BinaryFn;
using fb::UnaryFn;

/// Both operands in the dtype of the result.
template <BinaryFn kFn>
void arithmetic(RuleContext& c) {
  const DType t = c.out_dtype();
  c.set(c.binary(kFn, c.cast(c.operand("self"), t), c.cast(c.operand("other"), t)));
}

/// `other * alpha`, where alpha is not 1.
ValueId scaled(RuleContext& c, ValueId x) {
  const Scalar alpha = c.number_or("alpha", 1);
  return alpha.as_double() == 1.0 ? x : c.binary_number(BinaryFn::Mul, x, alpha);
}

void add(RuleContext& c) {
  const DType t = c.out_dtype();
  const ValueId a = c.cast(c.operand("self"), t);
  const ValueId b = c.cast(c.operand("other"), t);
  if (t == DType::kBool) return c.set(c.binary(BinaryFn::LogicalOr, a, b));
  c.set(c.binary(BinaryFn::Add, a, scaled(c, b)));
}

void sub(RuleContext& c) {
  const DType t = c.out_dtype();
  const ValueId b = scaled(c, c.cast(c.operand("other"), t));
  c.set(c.binary(BinaryFn::Sub, c.cast(c.operand("self"), t), b));
}

void rsub(RuleContext& c) {
  const DType t = c.out_dtype();
  const ValueId a = scaled(c, c.cast(c.operand("self"), t));
  c.set(c.binary(BinaryFn::Sub, c.cast(c.operand("other"), t), a));
}

void mul(RuleContext& c) {
  const bool is_bool = c.out_dtype() == DType::kBool;
  is_bool ? arithmetic<BinaryFn::LogicalAnd>(c) : arithmetic<BinaryFn::Mul>(c);
}

void div(RuleContext& c) {
  const std::string mode = c.text_or("rounding_mode", "");
  if (mode == "floor") return arithmetic<BinaryFn::FloorDivide>(c);
  if (mode == "trunc") return arithmetic<BinaryFn::TruncDivide>(c);
  arithmetic<BinaryFn::Div>(c);
}

void pow_scalar(RuleContext& c) {
  const DType t = c.out_dtype();
  const ValueId x = c.cast(c.tensor("self"), t);
  const Scalar exponent = c.number("exponent");
  const double e = exponent.as_double();
  if (e == 1) return c.set(x);
  if (e == 2) return c.set(c.unary(UnaryFn::Square, x));
  if (is_floating(t) && e == 0.5) return c.set(c.unary(UnaryFn::Sqrt, x));
  if (is_floating(t) && e == -0.5) return c.set(c.unary(UnaryFn::Rsqrt, x));
  if (is_floating(t) && e == -1) return c.set(c.unary(UnaryFn::Reciprocal, x));
  c.set(c.binary_number(BinaryFn::Pow, x, exponent));
}

void pow_any(RuleContext& c) {
  const DType t = c.out_dtype();
  c.set(c.binary(BinaryFn::Pow, c.cast(c.operand("self"), t), c.cast(c.operand("exponent"), t)));
}

/// Operands in their own common dtype, the result is bool.
template <BinaryFn kFn>
void comparison(RuleContext& c) {
  const DType t = result_type({c.promotion("self"), c.promotion("other")});
  c.set(c.binary(kFn, c.cast(c.operand("self"), t), c.cast(c.operand("other"), t)));
}

template <BinaryFn kFn>
void logical(RuleContext& c) {
  c.set(c.binary(kFn, c.cast(c.operand("self"), DType::kBool),
                 c.cast(c.operand("other"), DType::kBool)));
}

template <BinaryFn kBits, BinaryFn kLogical>
void bitwise(RuleContext& c) {
  c.out_dtype() == DType::kBool ? arithmetic<kLogical>(c) : arithmetic<kBits>(c);
}

/// a << b as a * 2^b, a >> b as floor(a / 2^b).
template <BinaryFn kFn>
void shift(RuleContext& c) {
  const DType t = c.out_dtype();
  const ValueId power = c.binary(BinaryFn::Pow, c.scalar(t, 2), c.cast(c.operand("other"), t));
  c.set(c.binary(kFn, c.cast(c.operand("self"), t), power));
}

/// NaN in one operand gives the other one.
template <BinaryFn kFn>
void ignoring_nan(RuleContext& c) {
  const DType t = c.out_dtype();
  const ValueId a = c.cast(c.operand("self"), t);
  const ValueId b = c.cast(c.operand("other"), t);
  ValueId y = c.binary(kFn, a, b);
  if (is_floating(t)) {
    y = c.where(c.unary(UnaryFn::IsNan, b), a, y);
    y = c.where(c.unary(UnaryFn::IsNan, a), b, y);
  }
  c.set(y);
}

/// max(a, b) + log(1 + exp(-|a - b|)), in base e or 2.
template <UnaryFn kExp>
void log_add_exp(RuleContext& c) {
  const DType t = c.out_dtype();
  const ValueId a = c.cast(c.operand("self"), t);
  const ValueId b = c.cast(c.operand("other"), t);
  const ValueId top = c.binary(BinaryFn::Maximum, a, b);
  const ValueId gap = c.unary(UnaryFn::Abs, c.binary(BinaryFn::Sub, a, b));
  const ValueId power = c.unary(kExp, c.unary(UnaryFn::Neg, gap));
  const ValueId tail = kExp == UnaryFn::Exp
                           ? c.unary(UnaryFn::Log1p, power)
                           : c.unary(UnaryFn::Log2, c.binary_number(BinaryFn::Add, power, 1.0));
  c.set(c.where(c.unary(UnaryFn::IsInf, top), top, c.binary(BinaryFn::Add, top, tail)));
}

void hypot(RuleContext& c) {
  const DType t = c.out_dtype();
  const ValueId a = c.unary(UnaryFn::Square, c.cast(c.operand("self"), t));
  const ValueId b = c.unary(UnaryFn::Square, c.cast(c.operand("other"), t));
  c.set(c.unary(UnaryFn::Sqrt, c.binary(BinaryFn::Add, a, b)));
}

/// self * log(other), 0 where self is 0 and other is a number.
void xlogy(RuleContext& c) {
  const DType t = c.out_dtype();
  const ValueId x = c.cast(c.operand("self"), t);
  const ValueId y = c.cast(c.operand("other"), t);
  const ValueId product = c.binary(BinaryFn::Mul, x, c.unary(UnaryFn::Log, y));
  const ValueId zeroed = c.where(c.binary_number(BinaryFn::Eq, x, 0.0), c.scalar(t, 0.0), product);
  c.set(c.where(c.unary(UnaryFn::IsNan, y), y, zeroed));
}

constexpr RuleEntry kBinaryEntries[] = {
    {"add", add},
    {"sub", sub},
    {"subtract", sub},
    {"rsub", rsub},
    {"mul", mul},
    {"multiply", mul},
    {"div", div},
    {"divide", div},
    {"true_divide", arithmetic<BinaryFn::Div>},
    {"floor_divide", arithmetic<BinaryFn::FloorDivide>},
    {"fmod", arithmetic<BinaryFn::Fmod>},
    {"remainder", arithmetic<BinaryFn::Remainder>},
    {"atan2", arithmetic<BinaryFn::Atan2>},
    {"arctan2", arithmetic<BinaryFn::Atan2>},
    {"minimum", arithmetic<BinaryFn::Minimum>},
    {"maximum", arithmetic<BinaryFn::Maximum>},
    {"min.other", arithmetic<BinaryFn::Minimum>},
    {"max.other", arithmetic<BinaryFn::Maximum>},
    {"fmin", ignoring_nan<BinaryFn::Minimum>},
    {"fmax", ignoring_nan<BinaryFn::Maximum>},
    {"pow.Tensor_Scalar", pow_scalar},
    {"pow", pow_any},
    {"logaddexp", log_add_exp<UnaryFn::Exp>},
    {"logaddexp2", log_add_exp<UnaryFn::Exp2>},
    {"hypot", hypot},
    {"xlogy", xlogy},
    {"special_xlogy", xlogy},
    {"eq", comparison<BinaryFn::Eq>},
    {"ne", comparison<BinaryFn::Ne>},
    {"not_equal", comparison<BinaryFn::Ne>},
    {"lt", comparison<BinaryFn::Lt>},
    {"less", comparison<BinaryFn::Lt>},
    {"le", comparison<BinaryFn::Le>},
    {"gt", comparison<BinaryFn::Gt>},
    {"greater", comparison<BinaryFn::Gt>},
    {"ge", comparison<BinaryFn::Ge>},
    {"logical_and", logical<BinaryFn::LogicalAnd>},
    {"logical_or", logical<BinaryFn::LogicalOr>},
    {"logical_xor", logical<BinaryFn::LogicalXor>},
    {"bitwise_and", bitwise<BinaryFn::BitwiseAnd, BinaryFn::LogicalAnd>},
    {"bitwise_or", bitwise<BinaryFn::BitwiseOr, BinaryFn::LogicalOr>},
    {"bitwise_xor", bitwise<BinaryFn::BitwiseXor, BinaryFn::LogicalXor>},
    {"__and__", bitwise<BinaryFn::BitwiseAnd, BinaryFn::LogicalAnd>},
    {"__or__", bitwise<BinaryFn::BitwiseOr, BinaryFn::LogicalOr>},
    {"__xor__", bitwise<BinaryFn::BitwiseXor, BinaryFn::LogicalXor>},
    {"bitwise_left_shift", shift<BinaryFn::Mul>},
    {"__lshift__", shift<BinaryFn::Mul>},
    {"bitwise_right_shift", shift<BinaryFn::FloorDivide>},
    {"__rshift__", shift<BinaryFn::FloorDivide>},
};

}  // namespace

const RuleList binary_rules{kBinaryEntries};

}  // namespace lazyrt
