// Sorting, and operators that use a sorted order.

#include <limits>

#include "aten/rule_lists.h"

namespace lazyrt {
namespace {

struct Sorted {
  ValueId values = kNoValue;
  ValueId indices = kNoValue;
};

Sorted top_k(RuleContext& c, ValueId x, int axis, int64_t k, bool largest, bool is_sorted = true) {
  if (c.dtype(x) == DType::kBool) {
    const Sorted sorted = top_k(c, c.cast(x, DType::kUInt8), axis, k, largest, is_sorted);
    return {c.cast(sorted.values, DType::kBool), sorted.indices};
  }
  fb::TopKT op;
  op.k = k;
  op.axis = axis;
  op.largest = largest;
  op.sorted = is_sorted;
  const std::vector<ValueId> outputs = c.add_multi(op, {x});
  if (outputs.size() != 2) return {};
  return {outputs[0], outputs[1]};
}

ValueId at_least_1d(RuleContext& c, ValueId x) { return c.rank(x) == 0 ? c.reshape(x, {1}) : x; }

void set_both(RuleContext& c, const Sorted& sorted) {
  if (c.used(0)) c.set(0, c.reshape(sorted.values, c.out_shape(0)));
  if (c.used(1)) c.set(1, c.reshape(sorted.indices, c.out_shape(1)));
}

void topk(RuleContext& c) {
  const ValueId x = at_least_1d(c, c.tensor("self"));
  const int axis = c.has("dim") ? c.axis_arg("dim", x) : c.rank(x) - 1;
  set_both(c, top_k(c, x, axis, c.integer("k"), c.boolean_or("largest", true),
                    c.boolean_or("sorted", true)));
}

/// A sort is the top n of n.
Sorted sort_all(RuleContext& c) {
  const ValueId x = at_least_1d(c, c.tensor("self"));
  const int axis = c.has("dim") ? c.axis_arg("dim", x) : c.rank(x) - 1;
  return top_k(c, x, axis, c.dim(x, axis), c.boolean_or("descending", false));
}

void sort(RuleContext& c) { set_both(c, sort_all(c)); }
void argsort(RuleContext& c) { c.set(c.reshape(sort_all(c).indices, c.out_shape())); }

/// Element k (from 0) of the ascending order.
void set_kth(RuleContext& c, ValueId x, int axis, int64_t k) {
  const Sorted sorted = top_k(c, x, axis, k + 1, false);
  set_both(c, {c.slice(sorted.values, axis, k, 1), c.slice(sorted.indices, axis, k, 1)});
}

void kthvalue(RuleContext& c) {
  const ValueId x = at_least_1d(c, c.tensor("self"));
  set_kth(c, x, c.has("dim") ? c.axis_arg("dim", x) : c.rank(x) - 1, c.integer("k") - 1);
}

/// The first NaN along the axis and its position, if there is one; otherwise what was found.
Sorted first_nan_or(RuleContext& c, ValueId x, int axis, const Sorted& found) {
  const ValueId nan = c.unary(fb::UnaryFn::IsNan, x);
  const ValueId any = c.reduce(fb::ReduceFn::Any, nan, {axis}, true);
  const double value = std::numeric_limits<double>::quiet_NaN();
  Sorted result;
  result.values = c.where(any, c.scalar(c.dtype(x), value), found.values);
  if (!c.used(1)) return result;
  fb::ArgReduceT first;
  first.fn = fb::ArgReduceFn::ArgMax;
  first.axis = axis;
  first.keepdim = true;
  result.indices = c.where(any, c.add(first, {c.cast(nan, DType::kUInt8)}), found.indices);
  return result;
}

/// The elements that a median is taken of: along one axis, or all of them in a row.
struct Row {
  ValueId x = kNoValue;
  int axis = 0;
  int64_t n = 1;  ///< its extent
};

Row median_operand(RuleContext& c) {
  Row row;
  row.x = at_least_1d(c, c.tensor("self"));
  if (!c.has("dim")) row.x = c.reshape(row.x, {c.numel(row.x)});
  if (c.has("dim")) row.axis = c.axis_arg("dim", row.x);
  row.n = c.dim(row.x, row.axis);
  if (row.n == 0) c.refuse("of an empty tensor is not supported");
  return row;
}

/// The lower of the two middle elements, or NaN as soon as there is one.
void median(RuleContext& c) {
  const auto [x, axis, n] = median_operand(c);
  if (n == 0) return;
  const Sorted sorted = top_k(c, x, axis, (n - 1) / 2 + 1, false);
  Sorted found = {c.slice(sorted.values, axis, (n - 1) / 2, 1),
                  c.slice(sorted.indices, axis, (n - 1) / 2, 1)};
  set_both(c, is_floating(c.dtype(x)) ? first_nan_or(c, x, axis, found) : found);
}

/// The lower of the two middle elements among those that are not NaN, which is sorted to the end.
void nanmedian(RuleContext& c) {
  if (!is_floating(c.dtype(c.tensor("self")))) return median(c);
  const auto [x, axis, n] = median_operand(c);
  if (n == 0) return;
  const ValueId nan = c.cast(c.unary(fb::UnaryFn::IsNan, x), DType::kInt64);
  const ValueId behind = c.reduce(fb::ReduceFn::Sum, nan, {axis}, true);
  ValueId place = c.binary(fb::BinaryFn::Sub, c.scalar(DType::kInt64, n - 1), behind);
  place = c.binary_number(fb::BinaryFn::Maximum, place, 0);
  place = c.binary_number(fb::BinaryFn::RightShift, place, 1);
  const Sorted sorted = top_k(c, x, axis, n, false);
  fb::GatherT gather;
  gather.axis = axis;
  const ValueId values = c.add(gather, {sorted.values, place});
  set_both(c, {values, c.used(1) ? c.add(gather, {sorted.indices, place}) : kNoValue});
}

constexpr RuleEntry kSortEntries[] = {
    {"topk", topk},         {"sort", sort},     {"argsort", argsort},     {"msort", sort},
    {"kthvalue", kthvalue}, {"median", median}, {"nanmedian", nanmedian},
};

}  // namespace

const RuleList sort_rules{kSortEntries};

}  // namespace lazyrt
