// Running products and extremes, by doubling: after k steps each element holds what the 2^k before
// it and itself make (Hillis and Steele, Data Parallel Algorithms, 1986).

#include <string>

#include "aten/rule_lists.h"

namespace lazyrt {
namespace {

using fb::BinaryFn;
using fb::UnaryFn;

/// x with its elements from `reach` on exchanged for `later`.
ValueId with_later(RuleContext& c, ValueId x, int axis, int64_t reach, ValueId later) {
  return c.concat({c.slice(x, axis, 0, reach), later}, axis);
}

/// In float64, as ATen multiplies.
void cumprod(RuleContext& c) {
  ValueId x = c.cast(c.tensor("self"), c.out_dtype());
  if (c.rank(x) == 0) return c.set(x);
  const int axis = c.axis_arg("dim", x);
  const int64_t n = c.dim(x, axis);
  if (is_floating(c.dtype(x))) x = c.cast(x, DType::kFloat64);
  for (int64_t reach = 1; reach < n; reach *= 2) {
    const ValueId before = c.slice(x, axis, 0, n - reach), own = c.slice(x, axis, reach, n - reach);
    x = with_later(c, x, axis, reach, c.binary(BinaryFn::Mul, before, own));
  }
  c.set(x);
}

/// 0, 1, 2, ... along an axis of x.
ValueId positions(RuleContext& c, ValueId x, int axis) {
  std::vector<int64_t> shape(static_cast<size_t>(c.rank(x)), 1);
  shape[static_cast<size_t>(axis)] = c.dim(x, axis);
  return c.expand(c.sequence(c.make_shape(shape)), c.shape(x));
}

/// kBeats: Ge or Le. The last of equal ones is taken; a NaN stays.
template <BinaryFn kBeats>
void running_extreme(RuleContext& c) {
  ValueId x = c.tensor("self");
  if (c.rank(x) == 0) {
    c.set(0, x);
    return c.set(1, c.scalar(DType::kInt64, int64_t{0}));
  }
  const int axis = c.axis_arg("dim", x);
  const int64_t n = c.dim(x, axis);
  ValueId at = positions(c, x, axis);
  for (int64_t reach = 1; reach < n; reach *= 2) {
    const auto before = [&](ValueId v) { return c.slice(v, axis, 0, n - reach); };
    const auto own = [&](ValueId v) { return c.slice(v, axis, reach, n - reach); };
    ValueId taken = c.binary(kBeats, own(x), before(x));
    if (is_floating(c.dtype(x))) {
      taken = c.binary(BinaryFn::LogicalOr, taken, c.unary(UnaryFn::IsNan, own(x)));
    }
    at = with_later(c, at, axis, reach, c.where(taken, own(at), before(at)));
    x = with_later(c, x, axis, reach, c.where(taken, own(x), before(x)));
  }
  c.set(0, x);
  c.set(1, at);
}

constexpr RuleEntry kRunningEntries[] = {
    {"cumprod", cumprod},
    {"cummax", running_extreme<BinaryFn::Ge>},
    {"cummin", running_extreme<BinaryFn::Le>},
};

}  // namespace

const RuleList running_rules{kRunningEntries};

}  // namespace lazyrt
