// Elementwise functions of two operands that take more than one of our Binary functions
// (functions.cpp has the others).

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
  if (t == DType::kBool) {
    const bool adds = c.number_or("alpha", 1).as_double() != 0;
    return c.set(adds ? c.binary(BinaryFn::LogicalOr, a, b) : a);
  }
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
  const bool takes_roots = is_floating(t) && c.trace_dtype() != DType::kFloat16;
  if (takes_roots && e == 0.5) return c.set(c.unary(UnaryFn::Sqrt, x));
  if (takes_roots && e == -0.5) return c.set(c.unary(UnaryFn::Rsqrt, x));
  if (is_floating(t) && e == -1) return c.set(c.unary(UnaryFn::Reciprocal, x));
  if (is_floating(t) && e == -2)
    return c.set(c.unary(UnaryFn::Reciprocal, c.unary(UnaryFn::Square, x)));
  c.set(c.binary_number(BinaryFn::Pow, x, exponent));
}

void pow_any(RuleContext& c) {
  const DType t = c.out_dtype();
  c.set(c.binary(BinaryFn::Pow, c.cast(c.operand("self"), t), c.cast(c.operand("exponent"), t)));
}

template <BinaryFn kBits, BinaryFn kLogical>
void bitwise(RuleContext& c) {
  c.out_dtype() == DType::kBool ? arithmetic<kLogical>(c) : arithmetic<kBits>(c);
}

/// If one operand is NaN the result is the other one; for equal operands it is the first.
template <BinaryFn kFn>
void ignoring_nan(RuleContext& c) {
  const DType t = c.out_dtype();
  const ValueId a = c.cast(c.operand("self"), t);
  const ValueId b = c.cast(c.operand("other"), t);
  if (!is_floating(t)) return c.set(c.binary(kFn, a, b));
  constexpr BinaryFn kWins = kFn == BinaryFn::Minimum ? BinaryFn::Le : BinaryFn::Ge;
  const ValueId alone = c.unary(UnaryFn::IsNan, b);
  c.set(c.where(c.binary(BinaryFn::LogicalOr, c.binary(kWins, a, b), alone), a, b));
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
  const ValueId natural = c.unary(UnaryFn::Log1p, power);
  constexpr double kLog2OfE = 1.4426950408889634;
  const ValueId tail =
      kExp == UnaryFn::Exp ? natural : c.binary_number(BinaryFn::Mul, natural, kLog2OfE);
  c.set(c.where(c.unary(UnaryFn::IsInf, top), top, c.binary(BinaryFn::Add, top, tail)));
}

ValueId root_of_squares(RuleContext& c, ValueId a, ValueId b) {
  const ValueId sum =
      c.binary(BinaryFn::Add, c.unary(UnaryFn::Square, a), c.unary(UnaryFn::Square, b));
  return c.unary(UnaryFn::Sqrt, sum);
}

/// hypot of f64: m sqrt(1 + (n / m)^2) for the larger m and the smaller n, but only if a square
/// would leave the type's range: otherwise that form would round results that are exact integers.
ValueId hypot_f64(RuleContext& c, ValueId a, ValueId b) {
  a = c.unary(UnaryFn::Abs, a);
  b = c.unary(UnaryFn::Abs, b);
  const ValueId m = c.binary(BinaryFn::Maximum, a, b);
  const ValueId ratio = c.binary(BinaryFn::Div, c.binary(BinaryFn::Minimum, a, b), m);
  const ValueId sum = c.binary_number(BinaryFn::Add, c.unary(UnaryFn::Square, ratio), 1.0);
  const ValueId far = c.where(c.binary_number(BinaryFn::Eq, m, 0.0), m,
                              c.binary(BinaryFn::Mul, m, c.unary(UnaryFn::Sqrt, sum)));
  const ValueId in_range = c.binary(BinaryFn::LogicalAnd, c.binary_number(BinaryFn::Ge, m, 1e-145),
                                    c.binary_number(BinaryFn::Le, m, 1e150));
  return c.where(in_range, root_of_squares(c, a, b), far);
}

/// Infinite if one side is, even if the other is NaN. In f64, squares of narrower types are exact.
void hypot(RuleContext& c) {
  const DType t = c.out_dtype();
  const ValueId a = c.cast(c.cast(c.operand("self"), t), DType::kFloat64);
  const ValueId b = c.cast(c.cast(c.operand("other"), t), DType::kFloat64);
  const ValueId y = t == DType::kFloat64 ? hypot_f64(c, a, b) : root_of_squares(c, a, b);
  const ValueId infinite =
      c.binary(BinaryFn::LogicalOr, c.unary(UnaryFn::IsInf, a), c.unary(UnaryFn::IsInf, b));
  c.set(c.where(infinite, c.scalar(t, kInfinity), c.cast(y, t)));
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

/// self * 2^other. The power of an integer is computed in f32, as ATen does.
void ldexp(RuleContext& c) {
  const ValueId exponent = c.tensor("other");
  const DType t = is_floating(c.dtype(exponent)) ? c.dtype(exponent) : DType::kFloat32;
  const ValueId power = c.binary(BinaryFn::Pow, c.scalar(t, 2.0), c.cast(exponent, t));
  const auto wide = [&](ValueId x) { return c.cast(x, c.out_dtype()); };
  c.set(c.binary(BinaryFn::Mul, wide(c.tensor("self")), wide(power)));
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
    {"fmin", ignoring_nan<BinaryFn::Minimum>},
    {"fmax", ignoring_nan<BinaryFn::Maximum>},
    {"pow.Tensor_Scalar", pow_scalar},
    {"pow", pow_any},
    {"logaddexp", log_add_exp<UnaryFn::Exp>},
    {"logaddexp2", log_add_exp<UnaryFn::Exp2>},
    {"hypot", hypot},
    {"ldexp", ldexp},
    {"xlogy", xlogy},
    {"special_xlogy", xlogy},
    {"bitwise_and", bitwise<BinaryFn::BitwiseAnd, BinaryFn::LogicalAnd>},
    {"bitwise_or", bitwise<BinaryFn::BitwiseOr, BinaryFn::LogicalOr>},
    {"bitwise_xor", bitwise<BinaryFn::BitwiseXor, BinaryFn::LogicalXor>},
    {"__and__", bitwise<BinaryFn::BitwiseAnd, BinaryFn::LogicalAnd>},
    {"__or__", bitwise<BinaryFn::BitwiseOr, BinaryFn::LogicalOr>},
    {"__xor__", bitwise<BinaryFn::BitwiseXor, BinaryFn::LogicalXor>},
};

}  // namespace

const RuleList binary_rules{kBinaryEntries};

}  // namespace lazyrt
