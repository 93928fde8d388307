// Running products, extremes and logarithms of sums.

#include "aten/rule_lists.h"

namespace lazyrt {
namespace {

using fb::BinaryFn;
using fb::ScanFn;
using fb::UnaryFn;

ValueId scan(RuleContext& c, ScanFn fn, int axis, ValueId x) {
  fb::ScanT op;
  op.fn = fn;
  op.axis = axis;
  return c.add(op, {x});
}

template <ScanFn kFn>
void running(RuleContext& c) {
  const ValueId x = c.cast(c.tensor("self"), c.out_dtype());
  if (c.rank(x) == 0) return c.set(x);
  c.set(scan(c, kFn, c.axis_arg("dim", x), x));
}

/// 0, 1, 2, ... along an axis of x.
ValueId positions(RuleContext& c, ValueId x, int axis) {
  std::vector<int64_t> shape(static_cast<size_t>(c.rank(x)), 1);
  shape[static_cast<size_t>(axis)] = c.dim(x, axis);
  return c.expand(c.sequence(c.make_shape(shape)), c.shape(x));
}

/// Of equal elements the last one is taken; each NaN is an extreme of the elements before it.
template <ScanFn kFn>
void running_extreme(RuleContext& c) {
  const ValueId self = c.tensor("self");
  if (c.rank(self) == 0) {
    c.set(0, self);
    return c.set(1, c.scalar(DType::kInt64, int64_t{0}));
  }
  const int axis = c.axis_arg("dim", self);
  const bool truth = c.dtype(self) == DType::kBool;
  const ValueId x = truth ? c.cast(self, DType::kUInt8) : self;
  const ValueId extreme = scan(c, kFn, axis, x);
  ValueId taken = c.binary(BinaryFn::Eq, x, extreme);
  if (is_floating(c.dtype(x))) {
    taken = c.binary(BinaryFn::LogicalOr, taken, c.unary(UnaryFn::IsNan, x));
  }
  const ValueId at = c.where(taken, positions(c, x, axis), c.scalar(DType::kInt64, int64_t{0}));
  c.set(0, c.cast(extreme, c.dtype(self)));
  c.set(1, scan(c, ScanFn::Max, axis, at));
}

constexpr RuleEntry kRunningEntries[] = {
    {"cumprod", running<ScanFn::Prod>},
    {"logcumsumexp", running<ScanFn::LogSumExp>},
    {"_logcumsumexp", running<ScanFn::LogSumExp>},
    {"cummax", running_extreme<ScanFn::Max>},
    {"cummin", running_extreme<ScanFn::Min>},
};

}  // namespace

const RuleList running_rules{kRunningEntries};

}  // namespace lazyrt
