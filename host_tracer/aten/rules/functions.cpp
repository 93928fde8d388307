// ATen operators that are one pointwise function of ours in the dtype of the result: their names
// stand with the function (kernels/unary/functions.inc, kernels/binary/functions.inc).

#include "aten/rule_lists.h"
#include "kernels/binary/binary_function.h"
#include "kernels/unary/unary_function.h"

namespace lazyrt {
namespace {

using fb::BinaryFn;
using fb::UnaryFn;

template <UnaryFn kFn>
void unary_function(RuleContext& c) {
  constexpr UnaryKind kKind = unary_kind(kFn);
  const ValueId self = c.tensor("self");
  if (kKind == UnaryKind::kTruth) return c.set(c.unary(kFn, self));
  const ValueId x = c.cast(self, c.out_dtype());
  const bool stays = kKind == UnaryKind::kRounding && !is_floating(c.out_dtype());
  c.set(stays ? x : c.unary(kFn, x));
}

/// What both operands are computed in.
DType operand_type(RuleContext& c, BinaryKind kind) {
  if (kind == BinaryKind::kLogic) return DType::kBool;
  if (kind == BinaryKind::kComparison) return c.promoted("self", "other");
  return c.out_dtype();
}

template <BinaryFn kFn>
void binary_function(RuleContext& c) {
  const DType t = operand_type(c, binary_kind(kFn));
  c.set(c.binary(kFn, c.cast(c.operand("self"), t), c.cast(c.operand("other"), t)));
}

constexpr size_t kMostNames = 4;
struct NamedRule {
  const char* names[kMostNames];
  RuleFn rule;
};

#define LAZYRT_NAMES(...) \
  { __VA_ARGS__ }
constexpr NamedRule kNamedRules[] = {
#define LAZYRT_UNARY(number, Name, kind, names, ...) \
  {LAZYRT_NAMES names, unary_function<UnaryFn::Name>},
#include "kernels/unary/functions.inc"
#undef LAZYRT_UNARY
#define LAZYRT_BINARY(number, Name, kind, cost, names, ...) \
  {LAZYRT_NAMES names, binary_function<BinaryFn::Name>},
#include "kernels/binary/functions.inc"
#undef LAZYRT_BINARY
};
#undef LAZYRT_NAMES

constexpr size_t count_names() {
  size_t count = 0;
  for (const NamedRule& function : kNamedRules) {
    for (const char* name : function.names) count += name != nullptr ? 1 : 0;
  }
  return count;
}

struct Entries {
  RuleEntry list[count_names()];
};

constexpr Entries make_entries() {
  Entries entries = {};
  size_t at = 0;
  for (const NamedRule& function : kNamedRules) {
    for (const char* name : function.names) {
      if (name != nullptr) entries.list[at++] = {name, function.rule};
    }
  }
  return entries;
}

constexpr Entries kEntries = make_entries();

}  // namespace

const RuleList functions_rules{kEntries.list};

}  // namespace lazyrt
