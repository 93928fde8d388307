// Elementwise functions of one operand that take more than one of our Unary functions
// (functions.cpp has the others), or only one of them for some types.

#include <cmath>
#include <iterator>
#include <numbers>
#include <utility>

#include "aten/rule_lists.h"

namespace lazyrt {
namespace {

using fb::BinaryFn;
using fb::UnaryFn;

/// The operand in the dtype of the result.
ValueId promoted_self(RuleContext& c) { return c.cast(c.tensor("self"), c.out_dtype()); }

/// Divides by whole powers of ten, as ATen does, because 10^-n is not exact.
void round_decimals(RuleContext& c) {
  const int64_t decimals = c.integer("decimals");
  const double scale = std::pow(10.0, static_cast<double>(std::abs(decimals)));
  const ValueId x = promoted_self(c);
  if (!is_floating(c.out_dtype())) return c.set(x);
  const auto [there, back] = decimals < 0 ? std::pair(BinaryFn::Div, BinaryFn::Mul)
                                          : std::pair(BinaryFn::Mul, BinaryFn::Div);
  const ValueId rounded = c.unary(UnaryFn::Round, c.binary_number(there, x, scale));
  c.set(c.binary_number(back, rounded, scale));
}

/// Of a bool it is the bool itself.
void sign(RuleContext& c) {
  const ValueId x = promoted_self(c);
  c.set(c.out_dtype() == DType::kBool ? x : c.unary(UnaryFn::Sign, x));
}

void bitwise_not(RuleContext& c) {
  const bool is_bool = c.out_dtype() == DType::kBool;
  c.set(c.unary(is_bool ? UnaryFn::LogicalNot : UnaryFn::BitwiseNot, promoted_self(c)));
}

/// The operand as a floating value: integers and bools are cast to f32.
ValueId floating_self(RuleContext& c) {
  const ValueId x = c.tensor("self");
  return is_floating(c.dtype(x)) ? x : c.cast(x, DType::kFloat32);
}

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

/// self * factor, for conversions such as degrees.
ValueId scaled(RuleContext& c, ValueId x, double factor) {
  return c.binary_number(BinaryFn::Mul, x, factor);
}

void rad2deg(RuleContext& c) { c.set(scaled(c, promoted_self(c), 180 / std::numbers::pi)); }
void deg2rad(RuleContext& c) { c.set(scaled(c, promoted_self(c), std::numbers::pi / 180)); }

void frac(RuleContext& c) {
  const ValueId x = promoted_self(c);
  c.set(c.binary(BinaryFn::Sub, x, c.unary(UnaryFn::Trunc, x)));
}

// erfc(z) exp(z^2) (2 + z) / 2 for z >= 0, as a Chebyshev series in u = 4 / (2 + z) - 1. Fitted in
// 40 digits; the first 12 are enough for float32.
constexpr double kErfcSeries[] = {
    1.15406747723293938 / 2,  3.55436921270498487e-1,   6.50951588287865246e-2,
    3.67114239583663917e-3,   -1.1128447433526325e-3,   -1.60758299153780798e-4,
    3.27803157417313706e-5,   5.44244164550501603e-6,   -1.51546655531714816e-6,
    -1.42976081811698649e-7,  8.23460882741949343e-8,   -1.29628468523065625e-9,
    -4.15472163101519831e-9,  6.34705827836281123e-10,  1.43208227122562233e-10,
    -6.16039010520458523e-11, 2.06121385546717e-12,     3.5714931488477057e-12,
    -8.58642284325179948e-13, -6.14560021379069637e-14, 7.41872574859677819e-14,
    -1.28950427550348779e-14, -2.35872638570715826e-15, 1.57293493816422116e-15,
    -2.2782966239023133e-16,  -6.3123304513622046e-17};

/// The series at u, by Clenshaw's recurrence.
ValueId erfc_series(RuleContext& c, ValueId u) {
  const size_t terms = c.dtype(u) == DType::kFloat64 ? std::size(kErfcSeries) : 13;
  const ValueId twice = c.binary_number(BinaryFn::Mul, u, 2.0);
  ValueId next = c.scalar(c.dtype(u), kErfcSeries[terms - 1]), after = c.scalar(c.dtype(u), 0.0);
  for (size_t i = terms - 2; i > 0; --i) {
    const ValueId sum =
        c.binary_number(BinaryFn::Add, c.binary(BinaryFn::Mul, twice, next), kErfcSeries[i]);
    const ValueId term = c.binary(BinaryFn::Sub, sum, after);
    after = next;
    next = term;
  }
  const ValueId last = c.binary(BinaryFn::Sub, c.binary(BinaryFn::Mul, u, next), after);
  return c.binary_number(BinaryFn::Add, last, kErfcSeries[0]);
}

/// 1 - erf(x) without cancellation, so that the tail is right: exp(-z^2) t series with z = |x|.
void erfc(RuleContext& c) {
  const ValueId x = promoted_self(c);
  const DType type = c.dtype(x);
  const ValueId z = c.unary(UnaryFn::Abs, x);
  const ValueId t =
      c.binary(BinaryFn::Div, c.scalar(type, 2.0), c.binary_number(BinaryFn::Add, z, 2.0));
  const ValueId u = c.binary_number(BinaryFn::Sub, c.binary_number(BinaryFn::Mul, t, 2.0), 1.0);
  const ValueId power = c.unary(UnaryFn::Exp, c.unary(UnaryFn::Neg, c.unary(UnaryFn::Square, z)));
  const ValueId right =
      c.binary(BinaryFn::Mul, power, c.binary(BinaryFn::Mul, t, erfc_series(c, u)));
  const ValueId left = c.binary(BinaryFn::Sub, c.scalar(type, 2.0), right);
  c.set(c.where(c.binary_number(BinaryFn::Lt, x, 0.0), left, right));
}

/// From here on x^2 + 1 is x^2 to the last place: asinh and acosh are log(2 x) there, which does
/// not overflow as x^2 does.
double far_out(RuleContext& c, ValueId x) { return c.dtype(x) == DType::kFloat64 ? 1e9 : 1e4; }

/// `near` for moderate x; log(2 x) where x is far out.
ValueId log_of_twice_far_out(RuleContext& c, ValueId x, ValueId near) {
  const ValueId far = c.binary_number(BinaryFn::Add, c.unary(UnaryFn::Log, x), std::numbers::ln2);
  return c.where(c.binary_number(BinaryFn::Gt, x, far_out(c, x)), far, near);
}

/// sign(x) * log1p(|x| + x^2 / (1 + sqrt(x^2 + 1))), exact near zero.
void asinh(RuleContext& c) {
  const ValueId x = promoted_self(c);
  const ValueId magnitude = c.unary(UnaryFn::Abs, x);
  const ValueId square = c.unary(UnaryFn::Square, x);
  const ValueId root = c.unary(UnaryFn::Sqrt, c.binary_number(BinaryFn::Add, square, 1.0));
  const ValueId tail = c.binary(BinaryFn::Div, square, c.binary_number(BinaryFn::Add, root, 1.0));
  const ValueId near = c.unary(UnaryFn::Log1p, c.binary(BinaryFn::Add, magnitude, tail));
  const ValueId log = log_of_twice_far_out(c, magnitude, near);
  const ValueId y = c.binary(BinaryFn::Mul, c.unary(UnaryFn::Sign, x), log);
  c.set(c.where(c.binary_number(BinaryFn::Eq, x, 0.0), x, y));  // -0 stays
}

/// log1p(d + sqrt(d) sqrt(x + 1)) with d = x - 1, exact near 1.
void acosh(RuleContext& c) {
  const ValueId x = promoted_self(c);
  const ValueId d = c.binary_number(BinaryFn::Sub, x, 1.0);
  const ValueId root = c.unary(UnaryFn::Sqrt, c.binary_number(BinaryFn::Add, x, 1.0));
  const ValueId product = c.binary(BinaryFn::Mul, c.unary(UnaryFn::Sqrt, d), root);
  const ValueId near = c.unary(UnaryFn::Log1p, c.binary(BinaryFn::Add, d, product));
  c.set(log_of_twice_far_out(c, x, near));
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

/// The logarithm of the gamma function of p dimensions: p (p - 1) / 4 log(pi) and the sum of
/// lgamma(x - k / 2), the smallest argument first as in ATen.
void mvlgamma(RuleContext& c) {
  const ValueId x = promoted_self(c);
  const int64_t p = c.integer("p");
  ValueId sum = kNoValue;
  for (int64_t k = p - 1; k >= 0 && c.ok(); --k) {
    const ValueId term =
        c.unary(UnaryFn::Lgamma, c.binary_number(BinaryFn::Add, x, -0.5 * static_cast<double>(k)));
    sum = sum == kNoValue ? term : c.binary(BinaryFn::Add, sum, term);
  }
  const double pairs = static_cast<double>(p * (p - 1)) / 4;
  c.set(c.binary_number(BinaryFn::Add, sum, pairs * std::log(std::numbers::pi)));
}

constexpr RuleEntry kUnaryEntries[] = {
    {"asinh", asinh},
    {"acosh", acosh},
    {"atanh", atanh},
    {"erfc", erfc},
    {"special_erfc", erfc},
    {"sign", sign},
    {"sgn", sign},
    {"round.decimals", round_decimals},
    {"frac", frac},
    {"rad2deg", rad2deg},
    {"deg2rad", deg2rad},
    {"logit", logit},
    {"mvlgamma", mvlgamma},
    {"special_logit", logit},
    {"bitwise_not", bitwise_not},
    {"isfinite", is_finite},
    {"isposinf", is_signed_inf<1>},
    {"isneginf", is_signed_inf<-1>},
};

}  // namespace

const RuleList unary_rules{kUnaryEntries};

}  // namespace lazyrt
