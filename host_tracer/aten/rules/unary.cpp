// Elementwise functions of one operand that are one of our Unary functions, or a few of them.

#include <cmath>
#include <numbers>

#include "aten/rule_lists.h"

namespace lazyrt {
namespace {

using fb::BinaryFn;
using fb::UnaryFn;

/// The operand in the dtype of the result.
ValueId promoted_self(RuleContext& c) { return c.cast(c.tensor("self"), c.out_dtype()); }

template <UnaryFn kFn>
void unary(RuleContext& c) {
  c.set(c.unary(kFn, promoted_self(c)));
}

/// Rounding leaves integers as they are.
template <UnaryFn kFn>
void rounding(RuleContext& c) {
  const ValueId x = promoted_self(c);
  c.set(is_floating(c.out_dtype()) ? c.unary(kFn, x) : x);
}

void round_decimals(RuleContext& c) {
  const double scale = std::pow(10.0, static_cast<double>(c.integer("decimals")));
  const ValueId x = promoted_self(c);
  if (!is_floating(c.out_dtype())) return c.set(x);
  const ValueId scaled = c.unary(UnaryFn::Round, c.binary_number(BinaryFn::Mul, x, scale));
  c.set(c.binary_number(BinaryFn::Div, scaled, scale));
}

void logical_not(RuleContext& c) {
  c.set(c.unary(UnaryFn::LogicalNot, c.cast(c.tensor("self"), DType::kBool)));
}

void bitwise_not(RuleContext& c) {
  const bool is_bool = c.out_dtype() == DType::kBool;
  c.set(c.unary(is_bool ? UnaryFn::LogicalNot : UnaryFn::BitwiseNot, promoted_self(c)));
}

/// What a predicate of floating values sees of any operand.
ValueId floating_self(RuleContext& c) {
  const ValueId x = c.tensor("self");
  return is_floating(c.dtype(x)) ? x : c.cast(x, DType::kFloat32);
}

void is_nan(RuleContext& c) { c.set(c.unary(UnaryFn::IsNan, floating_self(c))); }
void is_inf(RuleContext& c) { c.set(c.unary(UnaryFn::IsInf, floating_self(c))); }

void is_finite(RuleContext& c) {
  const ValueId x = floating_self(c);
  const ValueId bad =
      c.binary(BinaryFn::LogicalOr, c.unary(UnaryFn::IsNan, x), c.unary(UnaryFn::IsInf, x));
  c.set(c.unary(UnaryFn::LogicalNot, bad));
}

template <int kSign>
void is_signed_inf(RuleContext& c) {
  c.set(c.binary_number(BinaryFn::Eq, floating_self(c), kSign * HUGE_VAL));
}

/// self * factor, for conversions such as degrees and logarithms of another base.
ValueId scaled(RuleContext& c, ValueId x, double factor) {
  return c.binary_number(BinaryFn::Mul, x, factor);
}

void log10(RuleContext& c) {
  c.set(scaled(c, c.unary(UnaryFn::Log, promoted_self(c)), 1 / std::numbers::ln10));
}
void rad2deg(RuleContext& c) { c.set(scaled(c, promoted_self(c), 180 / std::numbers::pi)); }
void deg2rad(RuleContext& c) { c.set(scaled(c, promoted_self(c), std::numbers::pi / 180)); }

void frac(RuleContext& c) {
  const ValueId x = promoted_self(c);
  c.set(c.binary(BinaryFn::Sub, x, c.unary(UnaryFn::Trunc, x)));
}

void erfc(RuleContext& c) {
  const ValueId x = promoted_self(c);
  c.set(c.binary(BinaryFn::Sub, c.scalar(c.dtype(x), 1.0), c.unary(UnaryFn::Erf, x)));
}

/// sign(x) * log1p(|x| + x^2 / (1 + sqrt(x^2 + 1))), exact near zero.
void asinh(RuleContext& c) {
  const ValueId x = promoted_self(c);
  const ValueId magnitude = c.unary(UnaryFn::Abs, x);
  const ValueId square = c.unary(UnaryFn::Square, x);
  const ValueId root = c.unary(UnaryFn::Sqrt, c.binary_number(BinaryFn::Add, square, 1.0));
  const ValueId tail = c.binary(BinaryFn::Div, square, c.binary_number(BinaryFn::Add, root, 1.0));
  const ValueId log = c.unary(UnaryFn::Log1p, c.binary(BinaryFn::Add, magnitude, tail));
  c.set(c.binary(BinaryFn::Mul, c.unary(UnaryFn::Sign, x), log));
}

/// log(x + sqrt((x - 1) (x + 1))).
void acosh(RuleContext& c) {
  const ValueId x = promoted_self(c);
  const ValueId product = c.binary(BinaryFn::Mul, c.binary_number(BinaryFn::Sub, x, 1.0),
                                   c.binary_number(BinaryFn::Add, x, 1.0));
  const ValueId sum = c.binary(BinaryFn::Add, x, c.unary(UnaryFn::Sqrt, product));
  c.set(c.unary(UnaryFn::Log, sum));
}

/// (log1p(x) - log1p(-x)) / 2.
void atanh(RuleContext& c) {
  const ValueId x = promoted_self(c);
  const ValueId negative = c.unary(UnaryFn::Log1p, c.unary(UnaryFn::Neg, x));
  const ValueId difference = c.binary(BinaryFn::Sub, c.unary(UnaryFn::Log1p, x), negative);
  c.set(scaled(c, difference, 0.5));
}

void logit(RuleContext& c) {
  ValueId x = promoted_self(c);
  if (c.has("eps")) {
    const double eps = c.number("eps").as_double();
    x = c.unary(UnaryFn::Clamp, x, eps, 1 - eps);
  }
  const ValueId rest = c.binary(BinaryFn::Sub, c.scalar(c.dtype(x), 1.0), x);
  c.set(c.unary(UnaryFn::Log, c.binary(BinaryFn::Div, x, rest)));
}

constexpr RuleEntry kUnaryEntries[] = {
    {"abs", unary<UnaryFn::Abs>},
    {"neg", unary<UnaryFn::Neg>},
    {"sigmoid", unary<UnaryFn::Sigmoid>},
    {"tanh", unary<UnaryFn::Tanh>},
    {"exp", unary<UnaryFn::Exp>},
    {"log", unary<UnaryFn::Log>},
    {"sqrt", unary<UnaryFn::Sqrt>},
    {"rsqrt", unary<UnaryFn::Rsqrt>},
    {"reciprocal", unary<UnaryFn::Reciprocal>},
    {"square", unary<UnaryFn::Square>},
    {"sin", unary<UnaryFn::Sin>},
    {"cos", unary<UnaryFn::Cos>},
    {"tan", unary<UnaryFn::Tan>},
    {"asin", unary<UnaryFn::Asin>},
    {"acos", unary<UnaryFn::Acos>},
    {"atan", unary<UnaryFn::Atan>},
    {"sinh", unary<UnaryFn::Sinh>},
    {"cosh", unary<UnaryFn::Cosh>},
    {"asinh", asinh},
    {"acosh", acosh},
    {"atanh", atanh},
    {"log2", unary<UnaryFn::Log2>},
    {"log10", log10},
    {"log1p", unary<UnaryFn::Log1p>},
    {"exp2", unary<UnaryFn::Exp2>},
    {"special_exp2", unary<UnaryFn::Exp2>},
    {"expm1", unary<UnaryFn::Expm1>},
    {"special_expm1", unary<UnaryFn::Expm1>},
    {"erf", unary<UnaryFn::Erf>},
    {"special_erf", unary<UnaryFn::Erf>},
    {"erfc", erfc},
    {"special_erfc", erfc},
    {"special_expit", unary<UnaryFn::Sigmoid>},
    {"sign", unary<UnaryFn::Sign>},
    {"sgn", unary<UnaryFn::Sign>},
    {"floor", rounding<UnaryFn::Floor>},
    {"ceil", rounding<UnaryFn::Ceil>},
    {"round", rounding<UnaryFn::Round>},
    {"round.decimals", round_decimals},
    {"trunc", rounding<UnaryFn::Trunc>},
    {"fix", rounding<UnaryFn::Trunc>},
    {"frac", frac},
    {"rad2deg", rad2deg},
    {"deg2rad", deg2rad},
    {"logit", logit},
    {"special_logit", logit},
    {"logical_not", logical_not},
    {"bitwise_not", bitwise_not},
    {"isnan", is_nan},
    {"isinf", is_inf},
    {"isfinite", is_finite},
    {"isposinf", is_signed_inf<1>},
    {"isneginf", is_signed_inf<-1>},
};

}  // namespace

const RuleList unary_rules{kUnaryEntries};

}  // namespace lazyrt
