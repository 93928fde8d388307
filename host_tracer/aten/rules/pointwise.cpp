// Elementwise operators that choose or mix: where, clamp, lerp, addcmul and the like.

#include <cmath>

#include "aten/rule_lists.h"

namespace lazyrt {
namespace {

using fb::BinaryFn;
using fb::UnaryFn;

ValueId promoted(RuleContext& c, const char* name) {
  return c.cast(c.operand(name), c.out_dtype());
}

void where(RuleContext& c) {
  if (c.out_count() != 1 || !c.has("self")) {
    c.refuse("without values is nonzero: its result's size depends on data");
    return;
  }
  c.set(c.where(c.tensor("condition"), promoted(c, "self"), promoted(c, "other")));
}

void masked_fill(RuleContext& c) {
  c.set(c.where(c.tensor("mask"), promoted(c, "value"), promoted(c, "self")));
}

/// Clamps by numbers; for floats one node, so that it can be fused into a convolution.
ValueId clamp_between(RuleContext& c, ValueId x, const char* low, const char* high) {
  if (is_floating(c.dtype(x))) {
    const double from = c.number_or(low, -kInfinity).as_double();
    const double to = c.number_or(high, kInfinity).as_double();
    if (std::isnan(from) || std::isnan(to)) return c.filled(c.dtype(x), c.shape(x), std::nan(""));
    return c.unary(UnaryFn::Clamp, x, from, to);
  }
  if (c.has(low)) x = c.binary_number(BinaryFn::Maximum, x, c.number(low));
  if (c.has(high)) x = c.binary_number(BinaryFn::Minimum, x, c.number(high));
  return x;
}

void clamp(RuleContext& c) {
  ValueId x = promoted(c, "self");
  if (!c.is_tensor("min") && !c.is_tensor("max")) return c.set(clamp_between(c, x, "min", "max"));
  if (c.has("min")) x = c.binary(BinaryFn::Maximum, x, promoted(c, "min"));
  if (c.has("max")) x = c.binary(BinaryFn::Minimum, x, promoted(c, "max"));
  c.set(x);
}

void hardtanh(RuleContext& c) {
  c.set(clamp_between(c, promoted(c, "self"), "min_val", "max_val"));
}

/// x where it is above the threshold (or NaN), else the value.
void threshold(RuleContext& c) {
  const ValueId x = promoted(c, "self");
  const ValueId below = c.binary_number(BinaryFn::Le, x, c.number("threshold"));
  c.set(c.where(below, c.scalar(c.dtype(x), c.number("value")), x));
}

/// start + weight * (end - start), from the end it is closer to, as ATen does.
void lerp(RuleContext& c) {
  const ValueId start = promoted(c, "self");
  const ValueId end = promoted(c, "end");
  const ValueId weight = promoted(c, "weight");
  const DType t = c.out_dtype();
  const ValueId difference = c.binary(BinaryFn::Sub, end, start);
  const ValueId rest = c.binary(BinaryFn::Sub, c.scalar(t, 1.0), weight);
  const ValueId from_start =
      c.binary(BinaryFn::Add, start, c.binary(BinaryFn::Mul, weight, difference));
  const ValueId from_end = c.binary(BinaryFn::Sub, end, c.binary(BinaryFn::Mul, difference, rest));
  const ValueId low = c.binary_number(BinaryFn::Lt, c.unary(UnaryFn::Abs, weight), 0.5);
  c.set(c.where(low, from_start, from_end));
}

/// self + value * tensor1 (* or /) tensor2.
template <BinaryFn kFn>
void add_product(RuleContext& c) {
  ValueId a = promoted(c, "tensor1");
  const Scalar value = c.number_or("value", 1);
  if (value.as_double() != 1.0) a = c.binary_number(BinaryFn::Mul, a, value);
  const ValueId product = c.binary(kFn, a, promoted(c, "tensor2"));
  c.set(c.binary(BinaryFn::Add, promoted(c, "self"), product));
}

void nan_to_num(RuleContext& c) {
  const ValueId x = promoted(c, "self");
  const DType t = c.dtype(x);
  if (!is_floating(t)) return c.set(x);
  const Scalar nan = c.number_or("nan", 0.0);
  const Scalar high = c.number_or("posinf", dtype_max(c.trace_dtype()));
  const Scalar low = c.number_or("neginf", dtype_lowest(c.trace_dtype()));
  ValueId y = c.where(c.unary(UnaryFn::IsNan, x), c.scalar(t, nan), x);
  y = c.where(c.binary_number(BinaryFn::Eq, x, kInfinity), c.scalar(t, high), y);
  c.set(c.where(c.binary_number(BinaryFn::Eq, x, -kInfinity), c.scalar(t, low), y));
}

void hardshrink(RuleContext& c) {
  const ValueId x = promoted(c, "self");
  const ValueId small = c.binary_number(BinaryFn::Le, c.unary(UnaryFn::Abs, x), c.number("lambd"));
  c.set(c.where(small, c.scalar(c.dtype(x), 0.0), x));
}

/// x - clamp(x, -lambd, lambd): zero within, moved towards zero outside.
void softshrink(RuleContext& c) {
  const ValueId x = promoted(c, "self");
  const double lambd = c.number("lambd").as_double();
  c.set(c.binary(BinaryFn::Sub, x, c.unary(UnaryFn::Clamp, x, -lambd, lambd)));
}

void heaviside(RuleContext& c) {
  const ValueId x = promoted(c, "self");
  const ValueId step = c.cast(c.binary_number(BinaryFn::Gt, x, 0.0), c.dtype(x));
  c.set(c.where(c.binary_number(BinaryFn::Eq, x, 0.0), promoted(c, "values"), step));
}

/// |a| with the sign of b.
void copysign(RuleContext& c) {
  const ValueId a = c.unary(UnaryFn::Abs, promoted(c, "self"));
  c.set(c.where(c.unary(UnaryFn::Signbit, promoted(c, "other")), c.unary(UnaryFn::Neg, a), a));
}

constexpr RuleEntry kPointwiseEntries[] = {
    {"where", where},
    {"masked_fill", masked_fill},
    {"clamp", clamp},
    {"clip", clamp},
    {"clamp_min", clamp},
    {"clamp_max", clamp},
    {"hardtanh", hardtanh},
    {"threshold", threshold},
    {"lerp", lerp},
    {"addcmul", add_product<BinaryFn::Mul>},
    {"addcdiv", add_product<BinaryFn::Div>},
    {"nan_to_num", nan_to_num},
    {"hardshrink", hardshrink},
    {"softshrink", softshrink},
    {"heaviside", heaviside},
    {"copysign", copysign},
};

}  // namespace

const RuleList pointwise_rules{kPointwiseEntries};

}  // namespace lazyrt
