// Reductions over dims.

#include <algorithm>

#include "aten/rule_lists.h"

namespace lazyrt {
namespace {

using fb::BinaryFn;
using fb::ReduceFn;
using fb::UnaryFn;

bool keepdim(RuleContext& c) { return c.boolean_or("keepdim", false); }

/// Elements that each result is made of.
int64_t count_over(RuleContext& c, ValueId x, const std::vector<int>& axes) {
  int64_t n = 1;
  for (int a : axes) n *= c.dim(x, a);
  return n;
}

/// Computed in the dtype of the result.
template <ReduceFn kFn>
void reduce(RuleContext& c) {
  const ValueId x = c.cast(c.tensor("self"), c.out_dtype());
  c.set(c.reduce(kFn, x, c.axes_arg("dim", x), keepdim(c)));
}

/// any and all look at truth values.
template <ReduceFn kFn>
void reduce_bool(RuleContext& c) {
  const ValueId x = c.cast(c.tensor("self"), DType::kBool);
  c.set(c.reduce(kFn, x, c.axes_arg("dim", x), keepdim(c)));
}

void nansum(RuleContext& c) {
  ValueId x = c.cast(c.tensor("self"), c.out_dtype());
  if (is_floating(c.dtype(x))) {
    x = c.where(c.unary(UnaryFn::IsNan, x), c.scalar(c.dtype(x), 0.0), x);
  }
  c.set(c.reduce(ReduceFn::Sum, x, c.axes_arg("dim", x), keepdim(c)));
}

void count_nonzero(RuleContext& c) {
  const ValueId x = c.cast(c.cast(c.tensor("self"), DType::kBool), DType::kInt64);
  c.set(c.reduce(ReduceFn::Sum, x, c.axes_arg("dim", x), false));
}

ValueId arg_reduce(RuleContext& c, fb::ArgReduceFn fn, ValueId x, int axis, bool keep) {
  if (c.rank(x) == 0) return c.constant_ints({}, {0});
  fb::ArgReduceT op;
  op.fn = fn;
  op.axis = axis;
  op.keepdim = keep;
  return c.add(op, {x});
}

/// max.dim and min.dim: values and their positions.
template <ReduceFn kFn, fb::ArgReduceFn kArg>
void reduce_with_index(RuleContext& c) {
  ValueId x = c.tensor("self");
  if (c.dtype(x) == DType::kBool) x = c.cast(x, DType::kUInt8);
  const int axis = c.axis_arg("dim", x);
  if (c.used(0)) c.set(0, c.rank(x) == 0 ? x : c.reduce(kFn, x, {axis}, keepdim(c)));
  if (c.used(1)) c.set(1, arg_reduce(c, kArg, x, axis, keepdim(c)));
}

/// Without a dim the position is that in the flattened operand.
template <fb::ArgReduceFn kArg>
void arg_reduce(RuleContext& c) {
  ValueId x = c.tensor("self");
  if (c.dtype(x) == DType::kBool) x = c.cast(x, DType::kUInt8);
  if (c.has("dim")) return c.set(arg_reduce(c, kArg, x, c.axis_arg("dim", x), keepdim(c)));
  const ValueId flat = c.reshape(x, {c.numel(x)});
  c.set(c.reshape(arg_reduce(c, kArg, flat, 0, false), c.out_shape()));
}

void aminmax(RuleContext& c) {
  const ValueId x = c.tensor("self");
  const std::vector<int> axes = c.axes_arg("dim", x);
  if (c.used(0)) c.set(0, c.reduce(ReduceFn::Min, x, axes, keepdim(c)));
  if (c.used(1)) c.set(1, c.reduce(ReduceFn::Max, x, axes, keepdim(c)));
}

/// What variance subtracts from the count: `correction`, or 1 for `unbiased`.
double correction(RuleContext& c) {
  if (c.has("unbiased")) return c.boolean("unbiased") ? 1 : 0;
  return c.number_or("correction", 1).as_double();
}

struct Moments {
  ValueId mean = kNoValue;
  ValueId variance = kNoValue;
};

/// Sum of squared distances from the mean over (count - correction).
Moments moments(RuleContext& c, ValueId x) {
  const std::vector<int> axes = c.axes_arg("dim", x);
  const bool keep = keepdim(c);
  const ValueId mean = c.reduce(ReduceFn::Mean, x, axes, true);
  const ValueId distance = c.binary(BinaryFn::Sub, x, mean);
  const ValueId square = c.unary(UnaryFn::Square, distance);
  const double off = correction(c);
  Moments m;
  if (off == 0) {
    m.variance = c.reduce(ReduceFn::Mean, square, axes, keep);
  } else {
    const double n = std::max(0.0, static_cast<double>(count_over(c, x, axes)) - off);
    m.variance = c.binary_number(BinaryFn::Div, c.reduce(ReduceFn::Sum, square, axes, keep), n);
  }
  m.mean = keep ? mean : c.reshape(mean, c.shape(m.variance));
  return m;
}

template <bool kRoot, bool kWithMean>
void variance(RuleContext& c) {
  const Moments m = moments(c, c.tensor("self"));
  c.set(0, kRoot ? c.unary(UnaryFn::Sqrt, m.variance) : m.variance);
  if (kWithMean && c.used(1)) c.set(1, m.mean);
}

/// The order of a norm: 2 when none is given.
double norm_order(RuleContext& c) {
  return c.has("ord") ? c.number("ord").as_double() : c.number_or("p", 2).as_double();
}

ValueId emit_norm(RuleContext& c, ValueId x, double p, const std::vector<int>& axes, bool keep) {
  const bool of_one = std::ranges::all_of(axes, [&](int axis) { return c.dim(x, axis) == 1; });
  if (of_one && p != 0) {  // as ATen, whose result does not overflow
    return c.reduce(ReduceFn::Sum, c.unary(UnaryFn::Abs, x), axes, keep);
  }
  if (p == 2) {
    return c.unary(UnaryFn::Sqrt, c.reduce(ReduceFn::Sum, c.unary(UnaryFn::Square, x), axes, keep));
  }
  const ValueId magnitude = c.unary(UnaryFn::Abs, x);
  if (p == kInfinity) return c.reduce(ReduceFn::Max, magnitude, axes, keep);
  if (p == -kInfinity) return c.reduce(ReduceFn::Min, magnitude, axes, keep);
  if (p == 1) return c.reduce(ReduceFn::Sum, magnitude, axes, keep);
  if (p == 0) {
    const ValueId present = c.cast(c.cast(x, DType::kBool), c.dtype(x));
    return c.reduce(ReduceFn::Sum, present, axes, keep);
  }
  const ValueId sum =
      c.reduce(ReduceFn::Sum, c.binary_number(BinaryFn::Pow, magnitude, p), axes, keep);
  return c.binary_number(BinaryFn::Pow, sum, 1 / p);
}

void norm(RuleContext& c) {
  const ValueId x = c.cast(c.tensor("self"), c.out_dtype());
  c.set(emit_norm(c, x, norm_order(c), c.axes_arg("dim", x), keepdim(c)));
}

/// log(sum(exp(x - max))) + max, with an infinite max left out.
void logsumexp(RuleContext& c) {
  const ValueId x = c.cast(c.tensor("self"), c.out_dtype());
  const std::vector<int> axes = c.axes_arg("dim", x);
  ValueId top = c.reduce(ReduceFn::Max, x, axes, true);
  top = c.where(c.unary(UnaryFn::IsInf, top), c.scalar(c.dtype(x), 0.0), top);
  const ValueId powers = c.unary(UnaryFn::Exp, c.binary(BinaryFn::Sub, x, top));
  const ValueId sum = c.unary(UnaryFn::Log, c.reduce(ReduceFn::Sum, powers, axes, keepdim(c)));
  c.set(c.binary(BinaryFn::Add, sum, c.reshape(top, c.shape(sum))));
}

void cumsum(RuleContext& c) {
  const ValueId x = c.cast(c.tensor("self"), c.out_dtype());
  if (c.rank(x) == 0) return c.set(x);
  fb::CumSumT op;
  op.axis = c.axis_arg("dim", x);
  c.set(c.add(op, {x}));
}

/// Counts the elements in each of equal bins; elements outside of [min, max] are in none.
void histc(RuleContext& c) {
  const double low = c.number_or("min", 0).as_double();
  const double high = c.number_or("max", 0).as_double();
  const int64_t bins = c.integer_or("bins", 100);
  if (!(low < high)) {
    c.refuse(
        "needs min and max: its defaults, the least and the largest element, are not supported");
    return;
  }
  const ValueId x = c.cast(c.tensor("self"), c.out_dtype());
  const ValueId row = c.reshape(x, {1, c.numel(x)});
  ValueId bin = c.binary_number(BinaryFn::Sub, row, low);
  bin = c.binary_number(BinaryFn::Mul, bin, static_cast<double>(bins));
  bin = c.unary(UnaryFn::Floor, c.binary_number(BinaryFn::Div, bin, high - low));
  bin = c.binary_number(BinaryFn::Minimum, bin, static_cast<double>(bins - 1));  // max itself
  const ValueId inside = c.binary_number(BinaryFn::Le, row, high);
  bin = c.where(inside, bin, c.scalar(c.dtype(x), -1.0));
  const ValueId column = c.cast(c.sequence({bins, 1}), c.dtype(x));
  const ValueId hits = c.cast(c.binary(BinaryFn::Eq, bin, column), c.out_dtype());
  c.set(c.reduce(ReduceFn::Sum, hits, {1}, false));
}

constexpr RuleEntry kReduceEntries[] = {
    {"sum", reduce<ReduceFn::Sum>},
    {"mean", reduce<ReduceFn::Mean>},
    {"prod", reduce<ReduceFn::Prod>},
    {"amax", reduce<ReduceFn::Max>},
    {"amin", reduce<ReduceFn::Min>},
    {"max", reduce<ReduceFn::Max>},
    {"min", reduce<ReduceFn::Min>},
    {"max.dim", reduce_with_index<ReduceFn::Max, fb::ArgReduceFn::ArgMax>},
    {"min.dim", reduce_with_index<ReduceFn::Min, fb::ArgReduceFn::ArgMin>},
    {"any", reduce_bool<ReduceFn::Any>},
    {"all", reduce_bool<ReduceFn::All>},
    {"_is_any_true", reduce_bool<ReduceFn::Any>},
    {"_is_all_true", reduce_bool<ReduceFn::All>},
    {"nansum", nansum},
    {"count_nonzero", count_nonzero},
    {"argmax", arg_reduce<fb::ArgReduceFn::ArgMax>},
    {"argmin", arg_reduce<fb::ArgReduceFn::ArgMin>},
    {"aminmax", aminmax},
    {"var", variance<false, false>},
    {"std", variance<true, false>},
    {"var_mean", variance<false, true>},
    {"std_mean", variance<true, true>},
    {"norm", norm},
    {"linalg_vector_norm", norm},
    {"histc", histc},
    {"logsumexp", logsumexp},
    {"cumsum", cumsum},
};

}  // namespace

const RuleList reduce_rules{kReduceEntries};

}  // namespace lazyrt
