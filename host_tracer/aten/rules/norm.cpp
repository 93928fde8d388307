// Normalizations.

#include <cmath>

#include "aten/rule_lists.h"

namespace lazyrt {
namespace {

using fb::BinaryFn;
using fb::ReduceFn;
using fb::UnaryFn;

/// Mean and 1 / deviation over the last dims, if a model reads them.
void set_statistics(RuleContext& c, ValueId x, int normalized_rank, double epsilon) {
  if (!c.used(1) && !c.used(2)) return;
  std::vector<int> axes;
  for (int i = c.rank(x) - normalized_rank; i < c.rank(x); ++i) axes.push_back(i);
  const ValueId mean = c.reduce(ReduceFn::Mean, x, axes, true);
  const ValueId square = c.unary(UnaryFn::Square, c.binary(BinaryFn::Sub, x, mean));
  const ValueId variance = c.reduce(ReduceFn::Mean, square, axes, true);
  if (c.used(1)) c.set(1, mean);
  const ValueId shifted = c.binary_number(BinaryFn::Add, variance, epsilon);
  if (c.used(2)) c.set(2, c.unary(UnaryFn::Rsqrt, shifted));
}

void layer_norm(RuleContext& c) {
  const ValueId x = c.tensor("input");
  fb::LayerNormT op;
  op.normalized_rank = static_cast<int32_t>(c.ints("normalized_shape").size());
  op.epsilon = c.number_or("eps", 1e-5).as_double();
  c.set(c.add(op, {x, c.optional_tensor("weight"), c.optional_tensor("bias")}));
  set_statistics(c, x, op.normalized_rank, op.epsilon);
}

void rms_norm(RuleContext& c) {
  const ValueId x = c.tensor("input");
  fb::RmsNormT op;
  op.normalized_rank = static_cast<int32_t>(c.ints("normalized_shape").size());
  op.epsilon = c.number_or("eps", dtype_epsilon(c.dtype(x))).as_double();
  c.set(c.add(op, {x, c.optional_tensor("weight")}));
}

/// An operand with channels in dim 1, brought into the layout of images if it is one.
struct Channels {
  ValueId x = kNoValue;
  int axis = 1;
  Shape nchw;  ///< before the permutation
};

Channels to_channels(RuleContext& c, ValueId x) {
  Channels result{x, 1, c.shape(x)};
  if (c.rank(x) == 3) result.nchw = {c.dim(x, 0), c.dim(x, 1), 1, c.dim(x, 2)};
  if (result.nchw.rank() != 4) return result;
  result.x = c.to_nhwc(c.reshape(x, result.nchw));
  result.axis = 3;
  return result;
}

void set_from_channels(RuleContext& c, const Channels& like, ValueId y) {
  if (like.axis == 3) y = c.to_nchw(y);
  c.set(c.reshape(y, c.out_shape()));
}

void emit_group_norm(RuleContext& c, const char* groups) {
  const Channels x = to_channels(c, c.tensor("input"));
  fb::GroupNormT op;
  op.groups = static_cast<int32_t>(c.integer(groups));
  op.epsilon = c.number_or("eps", 1e-5).as_double();
  op.channel_axis = x.axis;
  const ValueId y = c.add(op, {x.x, c.optional_tensor("weight"), c.optional_tensor("bias")});
  set_from_channels(c, x, y);
}

void group_norm(RuleContext& c) { emit_group_norm(c, "num_groups"); }
void native_group_norm(RuleContext& c) { emit_group_norm(c, "group"); }

/// A vector over dim 1 in a form that broadcasts against x.
ValueId along_channels(RuleContext& c, ValueId v, ValueId x) {
  std::vector<int64_t> dims(static_cast<size_t>(c.rank(x)), 1);
  if (dims.size() > 1) dims[1] = c.numel(v);
  return c.reshape(v, c.make_shape(dims));
}

/// The statistics of each channel, in a form that broadcasts against the operand.
struct BatchStatistics {
  ValueId mean = kNoValue;
  ValueId variance = kNoValue;  ///< biased
};

/// Result 0: the operand normalized by its own mean and variance over all dims but 1 (instance norm
/// is traced as this). Results 1 and 2, if they are read: mean and 1 / deviation.
BatchStatistics normalize_by_batch(RuleContext& c) {
  const ValueId x = c.tensor("input");
  std::vector<int> axes;
  for (int i = 0; i < c.rank(x); ++i) {
    if (i != 1) axes.push_back(i);
  }
  BatchStatistics batch;
  batch.mean = c.reduce(ReduceFn::Mean, x, axes, true);
  const ValueId centred = c.binary(BinaryFn::Sub, x, batch.mean);
  batch.variance = c.reduce(ReduceFn::Mean, c.unary(UnaryFn::Square, centred), axes, true);
  const double eps = c.number_or("eps", 1e-5).as_double();
  const ValueId scale =
      c.unary(UnaryFn::Rsqrt, c.binary_number(BinaryFn::Add, batch.variance, eps));
  ValueId y = c.binary(BinaryFn::Mul, centred, scale);
  const ValueId weight = c.optional_tensor("weight");
  const ValueId bias = c.optional_tensor("bias");
  if (weight != kNoValue) y = c.binary(BinaryFn::Mul, y, along_channels(c, weight, x));
  if (bias != kNoValue) y = c.binary(BinaryFn::Add, y, along_channels(c, bias, x));
  c.set(y);
  if (c.used(1)) c.set(1, c.reshape(batch.mean, c.out_shape(1)));
  if (c.used(2)) c.set(2, c.reshape(scale, c.out_shape(2)));
  return batch;
}

void batch_norm_own_statistics(RuleContext& c) { normalize_by_batch(c); }

/// (1 - momentum) * running + momentum * seen.
ValueId moving_average(RuleContext& c, const char* running, ValueId seen) {
  const ValueId old = c.tensor(running);
  const double momentum = c.number_or("momentum", 0.1).as_double();
  return c.binary(BinaryFn::Add, c.binary_number(BinaryFn::Mul, old, 1.0 - momentum),
                  c.binary_number(BinaryFn::Mul, c.reshape(seen, c.shape(old)), momentum));
}

/// Training mode: normalizes by the batch; results 3 and 4 are the new running statistics, with the
/// unbiased variance.
void batch_norm_functional(RuleContext& c) {
  const BatchStatistics batch = normalize_by_batch(c);
  const ValueId x = c.tensor("input");
  const auto seen = static_cast<double>(c.numel(x)) / static_cast<double>(c.numel(batch.mean));
  const ValueId unbiased = c.binary_number(BinaryFn::Mul, batch.variance, seen / (seen - 1.0));
  if (c.used(3)) c.set(3, moving_average(c, "running_mean", batch.mean));
  if (c.used(4)) c.set(4, moving_average(c, "running_var", unbiased));
}

void batch_norm_frozen(RuleContext& c) {
  const Channels x = to_channels(c, c.tensor("input"));
  fb::BatchNormT op;
  op.epsilon = c.number_or("eps", 1e-5).as_double();
  op.channel_axis = x.axis;
  const ValueId y = c.add(op, {x.x, c.optional_tensor("weight"), c.optional_tensor("bias"),
                               c.tensor("running_mean"), c.tensor("running_var")});
  set_from_channels(c, x, y);
}

void batch_norm(RuleContext& c) {
  if (!c.boolean_or("training", false)) return batch_norm_frozen(c);
  if (!c.has("running_mean")) return batch_norm_own_statistics(c);
  c.refuse("in training mode updates its statistics; call model.eval() before the export");
}

void instance_norm(RuleContext& c) {
  if (!c.boolean_or("use_input_stats", true)) return batch_norm_frozen(c);
  const Channels x = to_channels(c, c.tensor("input"));
  fb::GroupNormT op;
  op.groups = static_cast<int32_t>(c.dim(x.x, x.axis));
  op.epsilon = c.number_or("eps", 1e-5).as_double();
  op.channel_axis = x.axis;
  const ValueId y = c.add(op, {x.x, c.optional_tensor("weight"), c.optional_tensor("bias")});
  set_from_channels(c, x, y);
}

/// v * (g / norm of v over all dims but `dim`).
void weight_norm(RuleContext& c) {
  const ValueId v = c.tensor("v");
  const int64_t kept = c.integer_or("dim", 0);
  std::vector<int> axes;
  for (int i = 0; i < c.rank(v); ++i) {
    if (kept < 0 || i != kept) axes.push_back(i);
  }
  const ValueId sum = c.reduce(ReduceFn::Sum, c.unary(UnaryFn::Square, v), axes, true);
  const ValueId norm = c.unary(UnaryFn::Sqrt, sum);
  c.set(c.binary(BinaryFn::Mul, v, c.binary(BinaryFn::Div, c.tensor("g"), norm)));
}

constexpr RuleEntry kNormEntries[] = {
    {"layer_norm", layer_norm},
    {"native_layer_norm", layer_norm},
    {"rms_norm", rms_norm},
    {"_fused_rms_norm", rms_norm},
    {"group_norm", group_norm},
    {"native_group_norm", native_group_norm},
    {"batch_norm", batch_norm},
    {"native_batch_norm", batch_norm},
    {"_batch_norm_impl_index", batch_norm},
    {"_native_batch_norm_legit", batch_norm},
    {"_native_batch_norm_legit.no_stats", batch_norm_own_statistics},
    {"_native_batch_norm_legit_functional", batch_norm_functional},
    {"_native_batch_norm_legit_no_training", batch_norm_frozen},
    {"_batch_norm_no_update", batch_norm_frozen},
    {"instance_norm", instance_norm},
    {"_weight_norm", weight_norm},
    {"_weight_norm_interface", weight_norm},
};

}  // namespace

const RuleList norm_rules{kNormEntries};

}  // namespace lazyrt
