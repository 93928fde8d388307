// Copies, conversions, and operators that do nothing outside of training.

#include "aten/rule_lists.h"

namespace lazyrt {
namespace {

/// Only the dtype of the result can differ; `set` casts.
void convert(RuleContext& c) { c.set(c.tensor("self")); }

void dropout(RuleContext& c) {
  const bool train = c.boolean_or("train", false) || c.boolean_or("training", false);
  if (train && c.number_or("p", 0.0).as_double() != 0.0) {
    c.refuse("in training draws random numbers; call model.eval() before the export");
    return;
  }
  c.set(c.tensor(c.has("input") ? "input" : "self"));
  if (c.used(1)) c.set(1, c.filled(c.out_dtype(1), c.out_shape(1), 1));
}

constexpr RuleEntry kCopyEntries[] = {
    {"_to_copy", convert},       {"to", convert},
    {"type_as", convert},        {"_copy_from", convert},
    {"clone", convert},          {"contiguous", convert},
    {"lift", convert},           {"lift_fresh", convert},
    {"positive", convert},       {"resolve_conj", convert},
    {"resolve_neg", convert},    {"_conj", convert},
    {"_conj_physical", convert}, {"conj_physical", convert},
    {"real", convert},           {"dropout", dropout},
    {"native_dropout", dropout}, {"feature_dropout", dropout},
    {"alpha_dropout", dropout},  {"feature_alpha_dropout", dropout},
};

}  // namespace

const RuleList copy_rules{kCopyEntries};

}  // namespace lazyrt
