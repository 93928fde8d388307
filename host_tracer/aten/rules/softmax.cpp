// Softmax and its logarithm.

#include "aten/rule_lists.h"

namespace lazyrt {
namespace {

template <bool kLog, bool kSafe>
void softmax(RuleContext& c) {
  ValueId x = c.cast(c.tensor("self"), c.out_dtype());
  fb::SoftmaxT op;
  op.axis = c.axis_arg("dim", x);
  op.log = kLog;
  op.safe = kSafe;
  if (c.rank(x) == 0) x = c.reshape(x, {1});
  c.set(c.reshape(c.add(op, {x}), c.out_shape()));
}

constexpr RuleEntry kSoftmaxEntries[] = {
    {"softmax", softmax<false, false>},      {"_softmax", softmax<false, false>},
    {"_safe_softmax", softmax<false, true>}, {"log_softmax", softmax<true, false>},
    {"_log_softmax", softmax<true, false>},
};

}  // namespace

const RuleList softmax_rules{kSoftmaxEntries};

}  // namespace lazyrt
