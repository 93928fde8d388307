// Joining, repeating and reordering whole parts of tensors.

#include <algorithm>

#include "aten/rule_lists.h"

namespace lazyrt {
namespace {

void cat(RuleContext& c) {
  std::vector<ValueId> parts;
  for (ValueId x : c.tensors("tensors")) {
    const bool legacy_empty = c.rank(x) == 1 && c.numel(x) == 0 && c.out_shape().rank() != 1;
    if (!legacy_empty) parts.push_back(c.cast(x, c.out_dtype()));
  }
  if (parts.empty()) return c.set(c.filled(c.out_dtype(), c.out_shape(), 0));
  c.set(c.concat(parts, c.axis(c.integer_or("dim", 0), c.rank(parts[0]))));
}

void stack(RuleContext& c) {
  const int axis = c.axis(c.integer_or("dim", 0), c.out_shape().rank());
  std::vector<ValueId> parts;
  for (ValueId x : c.tensors("tensors")) {
    parts.push_back(c.unsqueeze(c.cast(x, c.out_dtype()), axis));
  }
  if (parts.empty()) {
    c.fail_arg("tensors", "is empty");
    return;
  }
  c.set(c.concat(parts, axis));
}

/// The whole axis `times` over: d -> [times, d], joined again.
ValueId tile_axis(RuleContext& c, ValueId x, int axis, int64_t times) {
  if (times == 1) return x;
  Shape tiled = c.shape(x);
  tiled[axis] *= times;
  if (c.dim(x, axis) == 1) return c.expand(x, tiled);
  const ValueId apart = c.unsqueeze(x, axis);
  Shape copies = c.shape(apart);
  copies[axis] = times;
  return c.reshape(c.expand(apart, copies), tiled);
}

void repeat(RuleContext& c) {
  ValueId x = c.tensor("self");
  std::vector<int64_t> times = c.ints(c.has("repeats") ? "repeats" : "dims");
  while (times.size() < static_cast<size_t>(c.rank(x))) times.insert(times.begin(), 1);
  while (c.ok() && static_cast<size_t>(c.rank(x)) < times.size()) x = c.unsqueeze(x, 0);
  for (size_t i = 0; i < times.size() && c.ok(); ++i) {
    x = tile_axis(c, x, static_cast<int>(i), times[i]);
  }
  c.set(x);
}

/// The operand and axis of repeat_interleave, flattened when no dim is given.
ValueId interleaved_operand(RuleContext& c, int* axis) {
  const ValueId x = c.tensor("self");
  *axis = c.has("dim") ? c.axis_arg("dim", x) : 0;
  return c.has("dim") && c.rank(x) > 0 ? x : c.reshape(x, {c.numel(x)});
}

void repeat_interleave_int(RuleContext& c) {
  int axis = 0;
  const ValueId x = interleaved_operand(c, &axis);
  const int64_t times = c.integer("repeats");
  const ValueId apart = c.unsqueeze(x, axis + 1);
  Shape copies = c.shape(apart);
  copies[axis + 1] = times;
  Shape joined = c.shape(x);
  joined[axis] *= times;
  c.set(c.reshape(c.expand(apart, copies), joined));
}

/// Repeats position i repeats[i] times; the repeats must be known.
std::vector<int64_t> repeated_positions(RuleContext& c) {
  std::vector<int64_t> ids;
  const auto repeats = c.known_values(c.tensor("repeats"));
  if (!repeats) {
    c.refuse("with computed repeats is not supported: its result's size depends on data");
    return ids;
  }
  for (size_t i = 0; i < repeats->size(); ++i) {
    ids.insert(ids.end(), static_cast<size_t>(std::max<int64_t>((*repeats)[i].as_int(), 0)),
               static_cast<int64_t>(i));
  }
  return ids;
}

void repeat_interleave_tensor(RuleContext& c) {
  int axis = 0;
  const ValueId x = interleaved_operand(c, &axis);
  if (c.numel(c.tensor("repeats")) == 1 && c.dim(x, axis) != 1) {
    c.refuse("with one repeat in a tensor is not supported; pass it as a number");
    return;
  }
  const std::vector<int64_t> ids = repeated_positions(c);
  c.set(c.index_select(x, axis, c.constant_ints({static_cast<int64_t>(ids.size())}, ids)));
}

void repeat_interleave_counts(RuleContext& c) {
  const std::vector<int64_t> ids = repeated_positions(c);
  c.set(c.constant_ints({static_cast<int64_t>(ids.size())}, ids));
}

ValueId roll_axis(RuleContext& c, ValueId x, int axis, int64_t shift) {
  const int64_t size = c.dim(x, axis);
  if (size == 0) return x;
  const int64_t tail = ((shift % size) + size) % size;
  if (tail == 0) return x;
  return c.concat({c.slice(x, axis, size - tail, tail), c.slice(x, axis, 0, size - tail)}, axis);
}

void roll(RuleContext& c) {
  ValueId x = c.tensor("self");
  const std::vector<int64_t> shifts = c.ints("shifts");
  const std::vector<int64_t> dims = c.ints_or("dims", {});
  if (dims.empty() && shifts.size() == 1) {
    const ValueId flat = c.reshape(x, {c.numel(x)});
    return c.set(c.reshape(roll_axis(c, flat, 0, shifts[0]), c.out_shape()));
  }
  if (dims.size() != shifts.size()) {
    c.fail_arg("dims", "differs in length from 'shifts'");
    return;
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    x = roll_axis(c, x, c.axis(dims[i], c.rank(x)), shifts[i]);
  }
  c.set(x);
}

ValueId flip_axes(RuleContext& c, ValueId x, const std::vector<int>& axes) {
  if (axes.empty()) return x;
  fb::FlipT op;
  op.axes.assign(axes.begin(), axes.end());
  return c.add(op, {x});
}

void flip(RuleContext& c) {
  const ValueId x = c.tensor("self");
  std::vector<int> axes;
  if (!c.ints("dims").empty()) axes = c.axes_arg("dims", x);
  c.set(flip_axes(c, x, axes));
}

template <int kAxis>
void flip_one(RuleContext& c) {
  c.set(flip_axes(c, c.tensor("self"), {kAxis}));
}

void rot90(RuleContext& c) {
  const ValueId x = c.tensor("self");
  const std::vector<int64_t> dims = c.ints("dims");
  if (dims.size() != 2) {
    c.fail_arg("dims", "must be two dims");
    return;
  }
  const int a = c.axis(dims[0], c.rank(x));
  const int b = c.axis(dims[1], c.rank(x));
  const int64_t turns = ((c.integer("k") % 4) + 4) % 4;
  if (turns == 0) return c.set(x);
  if (turns == 2) return c.set(flip_axes(c, x, {std::min(a, b), std::max(a, b)}));
  if (turns == 1) return c.set(c.transpose(flip_axes(c, x, {b}), a, b));
  c.set(flip_axes(c, c.transpose(x, a, b), {b}));
}

/// [N, g * c, ...] -> [N, c * g, ...] with groups and channels exchanged.
void channel_shuffle(RuleContext& c) {
  const ValueId x = c.tensor("self");
  const int64_t groups = c.integer("groups");
  const int64_t channels = c.dim(x, 1);
  if (groups < 1 || channels % groups != 0) {
    c.fail_arg("groups", "does not divide the channels");
    return;
  }
  const int64_t rest =
      channels == 0 ? 0 : c.numel(x) / std::max<int64_t>(c.dim(x, 0), 1) / channels;
  const ValueId apart = c.reshape(x, {c.dim(x, 0), groups, channels / groups, rest});
  c.set(c.reshape(c.transpose(apart, 1, 2), c.out_shape()));
}

/// [..., c * r * r, H, W] -> [..., c, H * r, W * r].
void pixel_shuffle(RuleContext& c) {
  const ValueId x = c.tensor("self");
  const int64_t r = c.integer("upscale_factor");
  const Shape s = c.shape(x);
  if (r < 1 || s.rank() < 3 || s.back(2) % (r * r) != 0) {
    c.fail_arg("upscale_factor", "does not fit the channels");
    return;
  }
  const int64_t batch = s.numel() == 0 ? 0 : s.numel() / (s.back(2) * s.back(1) * s.back(0));
  const ValueId apart = c.reshape(x, {batch, s.back(2) / (r * r), r, r, s.back(1), s.back(0)});
  c.set(c.reshape(c.permute(apart, {0, 1, 4, 2, 5, 3}), c.out_shape()));
}

/// [..., c, H * r, W * r] -> [..., c * r * r, H, W].
void pixel_unshuffle(RuleContext& c) {
  const ValueId x = c.tensor("self");
  const int64_t r = c.integer("downscale_factor");
  const Shape s = c.shape(x);
  if (r < 1 || s.rank() < 3 || s.back(1) % r != 0 || s.back(0) % r != 0) {
    c.fail_arg("downscale_factor", "does not divide the image");
    return;
  }
  const int64_t batch = s.numel() == 0 ? 0 : s.numel() / (s.back(2) * s.back(1) * s.back(0));
  const ValueId apart = c.reshape(x, {batch, s.back(2), s.back(1) / r, r, s.back(0) / r, r});
  c.set(c.reshape(c.permute(apart, {0, 1, 3, 5, 2, 4}), c.out_shape()));
}

constexpr RuleEntry kJoinEntries[] = {
    {"cat", cat},
    {"concat", cat},
    {"concatenate", cat},
    {"stack", stack},
    {"_stack", stack},
    {"repeat", repeat},
    {"tile", repeat},
    {"repeat_interleave.self_int", repeat_interleave_int},
    {"repeat_interleave.self_Tensor", repeat_interleave_tensor},
    {"repeat_interleave.Tensor", repeat_interleave_counts},
    {"roll", roll},
    {"flip", flip},
    {"fliplr", flip_one<1>},
    {"flipud", flip_one<0>},
    {"rot90", rot90},
    {"channel_shuffle", channel_shuffle},
    {"native_channel_shuffle", channel_shuffle},
    {"pixel_shuffle", pixel_shuffle},
    {"pixel_unshuffle", pixel_unshuffle},
};

}  // namespace

const RuleList join_rules{kJoinEntries};

}  // namespace lazyrt
