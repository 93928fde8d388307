// Padding.

#include <string>

#include "aten/rule_lists.h"

namespace lazyrt {
namespace {

/// ATen lists (before, after) pairs from the last dim to the first.
void emit_pad(RuleContext& c, const char* name, fb::PadMode mode, double value) {
  const ValueId x = c.tensor("self");
  const std::vector<int64_t> pad = c.ints(name);
  const auto rank = static_cast<size_t>(c.rank(x));
  if (pad.size() % 2 != 0 || pad.size() > 2 * rank) {
    c.fail_arg(name, "has " + std::to_string(pad.size()) + " elements for an operand of " +
                         std::to_string(rank) + " dims");
    return;
  }
  fb::PadT op;
  op.mode = mode;
  op.value = value;
  op.before.assign(rank, 0);
  op.after.assign(rank, 0);
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    op.before[rank - 1 - i] = pad[2 * i];
    op.after[rank - 1 - i] = pad[2 * i + 1];
  }
  c.set(c.add(op, {x}));
}

void constant_pad(RuleContext& c) {
  emit_pad(c, "pad", fb::PadMode::Constant, c.number_or("value", 0).as_double());
}

template <fb::PadMode kMode>
void pad_by(RuleContext& c) {
  emit_pad(c, c.has("pad") ? "pad" : "padding", kMode, 0);
}

/// torch.nn.functional.pad as one operator.
void pad(RuleContext& c) {
  const std::string mode = c.text_or("mode", "constant");
  if (mode == "constant") return constant_pad(c);
  if (mode == "reflect") return pad_by<fb::PadMode::Reflect>(c);
  if (mode == "replicate") return pad_by<fb::PadMode::Replicate>(c);
  if (mode == "circular") return pad_by<fb::PadMode::Circular>(c);
  c.fail_arg("mode", "is '" + mode + "'");
}

constexpr RuleEntry kPadEntries[] = {
    {"constant_pad_nd", constant_pad},
    {"pad", pad},
    {"reflection_pad1d", pad_by<fb::PadMode::Reflect>},
    {"reflection_pad2d", pad_by<fb::PadMode::Reflect>},
    {"reflection_pad3d", pad_by<fb::PadMode::Reflect>},
    {"replication_pad1d", pad_by<fb::PadMode::Replicate>},
    {"replication_pad2d", pad_by<fb::PadMode::Replicate>},
    {"replication_pad3d", pad_by<fb::PadMode::Replicate>},
    {"_pad_circular", pad_by<fb::PadMode::Circular>},
};

}  // namespace

const RuleList pad_rules{kPadEntries};

}  // namespace lazyrt
