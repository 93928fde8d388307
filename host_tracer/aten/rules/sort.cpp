// Sorting and what can be read off a sorted order.

#include <limits>

#include "aten/rule_lists.h"

namespace lazyrt {
namespace {

struct Sorted {
  ValueId values = kNoValue;
  ValueId indices = kNoValue;
};

Sorted top_k(RuleContext& c, ValueId x, int axis, int64_t k, bool largest) {
  fb::TopKT op;
  op.k = k;
  op.axis = axis;
  op.largest = largest;
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
  set_both(c, top_k(c, x, axis, c.integer("k"), c.boolean_or("largest", true)));
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

/// The lower of the two middle elements.
void median(RuleContext& c) {
  ValueId x = at_least_1d(c, c.tensor("self"));
  if (!c.has("dim")) x = c.reshape(x, {c.numel(x)});
  const int axis = c.has("dim") ? c.axis_arg("dim", x) : 0;
  const int64_t n = c.dim(x, axis);
  if (n == 0) {
    c.refuse("of no elements is not supported");
    return;
  }
  const Sorted sorted = top_k(c, x, axis, (n - 1) / 2 + 1, false);
  // NaN is the largest: it is the median as soon as there is one.
  ValueId values = c.slice(sorted.values, axis, (n - 1) / 2, 1);
  if (is_floating(c.dtype(x))) {
    const ValueId nan = c.cast(c.unary(fb::UnaryFn::IsNan, x), DType::kBool);
    const ValueId any = c.reduce(fb::ReduceFn::Any, nan, {axis}, true);
    values = c.where(any, c.scalar(c.dtype(x), std::numeric_limits<double>::quiet_NaN()), values);
  }
  set_both(c, {values, c.slice(sorted.indices, axis, (n - 1) / 2, 1)});
}

constexpr RuleEntry kSortEntries[] = {
    {"topk", topk},  {"sort", sort},         {"argsort", argsort},
    {"msort", sort}, {"kthvalue", kthvalue}, {"median", median},
};

}  // namespace

const RuleList sort_rules{kSortEntries};

}  // namespace lazyrt
