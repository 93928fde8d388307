// Sampling at computed positions.

#include "aten/rule_lists.h"

namespace lazyrt {
namespace {

/// [N,C,...] to [N,...,C], or back.
std::vector<int> channels_last(int rank) {
  std::vector<int> perm = {0};
  for (int i = 2; i < rank; ++i) perm.push_back(i);
  perm.push_back(1);
  return perm;
}

std::vector<int> channels_first(int rank) {
  std::vector<int> perm = {0, rank - 1};
  for (int i = 1; i + 1 < rank; ++i) perm.push_back(i);
  return perm;
}

void grid_sample(RuleContext& c) {
  const ValueId x = c.tensor("input"), grid = c.tensor("grid");
  const int rank = c.rank(x);
  fb::GridSampleT op;
  op.mode = static_cast<fb::SampleMode>(c.integer("interpolation_mode"));
  op.padding = static_cast<fb::SamplePadding>(c.integer("padding_mode"));
  op.align_corners = c.boolean("align_corners");
  if (rank != 4 && rank != 5) {
    c.refuse("its input has " + std::to_string(rank) + " dims, not 4 or 5");
    return;
  }
  const ValueId y = c.add(op, {c.permute(x, channels_last(rank)), grid});
  c.set(c.permute(y, channels_first(rank)));
}

constexpr RuleEntry kSampleEntries[] = {
    {"grid_sampler", grid_sample},
    {"grid_sampler_2d", grid_sample},
    {"grid_sampler_3d", grid_sample},
};

}  // namespace

const RuleList sample_rules{kSampleEntries};

}  // namespace lazyrt
