// Convolutions of one to three spatial dims, plain and transposed.

#include <algorithm>

#include "aten/rule_lists.h"
#include "host_tracer/aten/images.h"

namespace lazyrt {
namespace {

using Pair = std::array<int64_t, 2>;

/// ATen's arguments of one convolution; height first, height 1 for one spatial dim.
struct ConvArgs {
  ValueId weight = kNoValue;  ///< [O,C/g,KH,KW], transposed [C,O/g,KH,KW]
  Pair stride, before, after, dilation, output_pad;
  int64_t groups = 1;
};

/// "same" or "valid" in place of numbers.
bool pads_by_text(const RuleContext& c) {
  return c.has("padding") && std::holds_alternative<std::string>(*c.node().find("padding"));
}

/// The padding that such a text adds to one dim, before and after together.
int64_t text_padding(RuleContext& c, int64_t kernel, int64_t dilation) {
  return c.text_or("padding", "") == "same" ? dilation * (kernel - 1) : 0;
}

void read_padding(RuleContext& c, int spatial, ConvArgs& args) {
  if (pads_by_text(c)) {
    for (int i = 0; i < 2; ++i) {
      const auto at = static_cast<size_t>(i);
      const int64_t total = text_padding(c, c.dim(args.weight, i + 2), args.dilation[at]);
      args.before[at] = total / 2;
      args.after[at] = total - total / 2;
    }
    return;
  }
  args.before = c.pair("padding", spatial, 0, {0, 0});
  args.after = args.before;
}

ConvArgs read_args(RuleContext& c, int spatial) {
  ConvArgs args;
  args.weight = c.tensor("weight");
  if (spatial == 1) args.weight = c.unsqueeze(args.weight, 2);
  args.stride = c.pair("stride", spatial, 1, {1, 1});
  args.dilation = c.pair("dilation", spatial, 1, {1, 1});
  args.output_pad = c.pair("output_padding", spatial, 0, {0, 0});
  args.groups = c.integer_or("groups", 1);
  read_padding(c, spatial, args);
  return args;
}

template <class TableT>
TableT conv_attrs(const ConvArgs& args) {
  TableT op;
  op.stride_h = static_cast<int32_t>(args.stride[0]);
  op.stride_w = static_cast<int32_t>(args.stride[1]);
  op.pad_top = static_cast<int32_t>(args.before[0]);
  op.pad_left = static_cast<int32_t>(args.before[1]);
  op.pad_bottom = static_cast<int32_t>(args.after[0]);
  op.pad_right = static_cast<int32_t>(args.after[1]);
  op.dilation_h = static_cast<int32_t>(args.dilation[0]);
  op.dilation_w = static_cast<int32_t>(args.dilation[1]);
  op.groups = static_cast<int32_t>(args.groups);
  return op;
}

/// [C,O/g,KH,KW] -> [O,KH,KW,C/g]; the groups are the outer part of C and of O.
ValueId transposed_weight(RuleContext& c, ValueId w, int64_t groups) {
  if (groups == 1) return c.permute(w, {1, 2, 3, 0});
  const int64_t in = c.dim(w, 0);
  const int64_t out = c.dim(w, 1);
  const int64_t kh = c.dim(w, 2);
  const int64_t kw = c.dim(w, 3);
  if (groups < 1 || in % groups != 0) return c.fail_arg("groups", "does not divide the channels");
  w = c.reshape(w, {groups, in / groups, out, kh, kw});
  w = c.permute(w, {0, 2, 3, 4, 1});
  return c.reshape(w, {groups * out, kh, kw, in / groups});
}

void emit_conv(RuleContext& c, int spatial, bool transposed) {
  const ConvArgs args = read_args(c, spatial);
  const Image x = to_image(c, c.tensor("input"), spatial);
  const ValueId bias = c.optional_tensor("bias");
  ValueId y = kNoValue;
  if (transposed) {
    auto op = conv_attrs<fb::ConvTranspose2dT>(args);
    op.output_pad_h = static_cast<int32_t>(args.output_pad[0]);
    op.output_pad_w = static_cast<int32_t>(args.output_pad[1]);
    y = c.add(op, {x.nhwc, transposed_weight(c, args.weight, args.groups), bias});
  } else {
    const ValueId weight = c.permute(args.weight, {0, 2, 3, 1});
    y = c.add(conv_attrs<fb::Conv2dT>(args), {x.nhwc, weight, bias});
  }
  c.set(from_image(c, x, y));
}

// ---------------------------------------------------------------- three spatial dims
//
// A convolution over three dims becomes one over images, whose channels are those of all frames in
// a window over depth (decisions/0002).

/// One spatial dim of a convolution.
struct Window {
  int64_t kernel, stride, before, after, dilation, output_pad;
};
using Windows = std::array<Window, 3>;

Windows read_windows(RuleContext& c, ValueId weight) {
  const bool by_text = pads_by_text(c);
  const auto stride = c.triple("stride", 3, 1, {1, 1, 1});
  const auto dilation = c.triple("dilation", 3, 1, {1, 1, 1});
  const auto output_pad = c.triple("output_padding", 3, 0, {0, 0, 0});
  const std::array<int64_t, 3> padding =
      by_text ? std::array<int64_t, 3>{} : c.triple("padding", 3, 0, {0, 0, 0});
  Windows windows;
  for (size_t i = 0; i < 3; ++i) {
    const int64_t kernel = c.dim(weight, static_cast<int>(i) + 2);
    const int64_t total = by_text ? text_padding(c, kernel, dilation[i]) : 2 * padding[i];
    windows[i] = {kernel, stride[i], total / 2, total - total / 2, dilation[i], output_pad[i]};
  }
  return windows;
}

/// Height and width of them.
ConvArgs plane_args(const Windows& w, int64_t groups) {
  ConvArgs args;
  args.stride = {w[1].stride, w[2].stride};
  args.before = {w[1].before, w[2].before};
  args.after = {w[1].after, w[2].after};
  args.dilation = {w[1].dilation, w[2].dilation};
  args.output_pad = {w[1].output_pad, w[2].output_pad};
  args.groups = groups;
  return args;
}

ValueId padded_depth(RuleContext& c, ValueId x, int64_t before, int64_t after) {
  if (before == 0 && after == 0) return x;
  fb::PadT pad;
  pad.before = {0, before, 0, 0, 0};
  pad.after = {0, after, 0, 0, 0};
  return c.add(pad, {x});
}

/// Joins values [N,D,H,W,C] side by side: [N,D,H,W,taps * C], with the channels of each group
/// together.
ValueId joined_channels(RuleContext& c, const std::vector<ValueId>& taps, int64_t groups) {
  if (taps.size() == 1) return taps[0];
  if (groups == 1) return c.concat(taps, 4);
  const int64_t n = c.dim(taps[0], 0), d = c.dim(taps[0], 1), h = c.dim(taps[0], 2),
                w = c.dim(taps[0], 3), channels = c.dim(taps[0], 4);
  std::vector<ValueId> by_group;
  for (ValueId tap : taps) {
    by_group.push_back(c.reshape(tap, c.make_shape({n, d, h, w, groups, channels / groups})));
  }
  const auto count = static_cast<int64_t>(taps.size());
  return c.reshape(c.concat(by_group, 5), c.make_shape({n, d, h, w, channels * count}));
}

/// For each depth of the result, the frames of x [N,D,H,W,C] that it reads: [N,D_out,H,W,KD * C].
ValueId frames_of_windows(RuleContext& c, ValueId x, const Window& depth, int64_t groups) {
  const int64_t n = c.dim(x, 0), frames = c.dim(x, 1), h = c.dim(x, 2), w = c.dim(x, 3),
                channels = c.dim(x, 4);
  const bool padded = depth.before + depth.after > 0;
  if (!padded && groups == 1 && depth.dilation == 1 && depth.kernel > 1 &&
      depth.stride == depth.kernel && frames % depth.kernel == 0) {
    const int64_t out = frames / depth.kernel;
    x = c.permute(c.reshape(x, c.make_shape({n, out, depth.kernel, h, w, channels})),
                  {0, 1, 3, 4, 2, 5});
    return c.reshape(x, c.make_shape({n, out, h, w, depth.kernel * channels}));
  }
  x = padded_depth(c, x, depth.before, depth.after);
  const int64_t reach = depth.dilation * (depth.kernel - 1) + 1;
  const int64_t out = (c.dim(x, 1) - reach) / depth.stride + 1;
  std::vector<ValueId> taps;
  for (int64_t k = 0; k < depth.kernel; ++k) {
    taps.push_back(c.slice(x, 1, k * depth.dilation, out, depth.stride));
  }
  return joined_channels(c, taps, groups);
}

/// Runs the op on the frames of x [N,D,H,W,C]; the result has the same form.
template <class TableT>
ValueId on_frames(RuleContext& c, const TableT& op, ValueId x, ValueId weight, ValueId bias) {
  const int64_t n = c.dim(x, 0), depth = c.dim(x, 1);
  return from_frames(c, c.add(op, {to_frames(c, x), weight, bias}), n, depth);
}

ValueId conv3d_of(RuleContext& c, ValueId x, ValueId weight, ValueId bias, const Windows& windows,
                  int64_t groups) {
  const int64_t filters = c.dim(weight, 0), kh = c.dim(weight, 3), kw = c.dim(weight, 4);
  const int64_t of_a_window = c.dim(weight, 1) * windows[0].kernel;
  weight =
      c.reshape(c.permute(weight, {0, 3, 4, 2, 1}), c.make_shape({filters, kh, kw, of_a_window}));
  return on_frames(c, conv_attrs<fb::Conv2dT>(plane_args(windows, groups)),
                   frames_of_windows(c, x, windows[0], groups), weight, bias);
}

/// [C,O/g,T,KH,KW] -> [O,KH,KW,T * C/g], in the order of joined_channels().
ValueId transposed_taps(RuleContext& c, ValueId w, int64_t groups) {
  const int64_t in = c.dim(w, 0), out = c.dim(w, 1), taps = c.dim(w, 2), kh = c.dim(w, 3),
                kw = c.dim(w, 4);
  w = c.reshape(w, c.make_shape({groups, in / groups, out, taps, kh, kw}));
  w = c.permute(w, {0, 2, 4, 5, 3, 1});
  return c.reshape(w, c.make_shape({groups * out, kh, kw, taps * (in / groups)}));
}

/// The depths `phase`, phase + stride, ... of a transposed convolution. They read x at whole steps:
/// at the j-th of them, tap k of the kernel reads frame j + first_step(k).
struct Phase {
  const Window& depth;
  int64_t phase;

  bool takes(int64_t k) const { return offset(k) % depth.stride == 0; }
  int64_t first_step(int64_t k) const { return offset(k) / depth.stride; }

 private:
  int64_t offset(int64_t k) const { return phase + depth.before - k * depth.dilation; }
};

/// Takes `count` frames of x from `first` on; frames outside of x are zeros.
ValueId frames_from(RuleContext& c, ValueId x, int64_t first, int64_t count) {
  const int64_t before = std::max(-first, int64_t{0});
  const int64_t after = std::max(first + count - c.dim(x, 1), int64_t{0});
  return c.slice(padded_depth(c, x, before, after), 1, first + before, count);
}

/// One phase, `count` frames of the result.
ValueId phase_of(RuleContext& c, const Phase& phase, ValueId x, ValueId weight, ValueId bias,
                 const fb::ConvTranspose2dT& op, int64_t count) {
  std::vector<ValueId> frames, taps;
  for (int64_t k = 0; k < phase.depth.kernel; ++k) {
    if (!phase.takes(k)) continue;
    frames.push_back(frames_from(c, x, phase.first_step(k), count));
    taps.push_back(c.slice(weight, 2, k, 1));
  }
  if (taps.empty()) {  // nothing reaches these depths: they get what a frame of zeros gives
    frames.push_back(frames_from(c, x, c.dim(x, 1), count));
    taps.push_back(c.slice(weight, 2, 0, 1));
  }
  return on_frames(c, op, joined_channels(c, frames, op.groups),
                   transposed_taps(c, c.concat(taps, 2), op.groups), bias);
}

ValueId transposed3d_of(RuleContext& c, ValueId x, ValueId weight, ValueId bias,
                        const Windows& windows, int64_t groups) {
  if (groups < 1 || c.dim(weight, 0) % groups != 0) {
    return c.fail_arg("groups", "does not divide the channels");
  }
  const Window& d = windows[0];
  const int64_t depth = (c.dim(x, 1) - 1) * d.stride - d.before - d.after +
                        d.dilation * (d.kernel - 1) + d.output_pad + 1;
  if (d.stride < 1 || depth < 1) return c.fail_arg("padding", "leaves nothing of the depth");
  const int64_t count = (depth + d.stride - 1) / d.stride;
  const ConvArgs args = plane_args(windows, groups);
  auto op = conv_attrs<fb::ConvTranspose2dT>(args);
  op.output_pad_h = static_cast<int32_t>(args.output_pad[0]);
  op.output_pad_w = static_cast<int32_t>(args.output_pad[1]);
  std::vector<ValueId> phases;
  for (int64_t i = 0; i < d.stride; ++i) {
    phases.push_back(c.unsqueeze(phase_of(c, {d, i}, x, weight, bias, op, count), 2));
  }
  const ValueId y = c.concat(phases, 2);
  const ValueId joined = c.reshape(
      y, c.make_shape({c.dim(y, 0), count * d.stride, c.dim(y, 3), c.dim(y, 4), c.dim(y, 5)}));
  return c.slice(joined, 1, 0, depth);
}

void emit_conv3d(RuleContext& c, bool transposed) {
  const ValueId weight = c.tensor("weight"), bias = c.optional_tensor("bias");
  if (c.rank(weight) != 5) {
    c.fail_arg("weight", "does not have the rank of a weight for three spatial dims");
    return;
  }
  const Image x = to_image(c, c.tensor("input"), 3);
  const Windows windows = read_windows(c, weight);
  const int64_t groups = c.integer_or("groups", 1);
  const auto of = transposed ? transposed3d_of : conv3d_of;
  c.set(from_image(c, x, of(c, x.nhwc, weight, bias, windows, groups)));
}

void convolution(RuleContext& c) {
  const int spatial = c.rank(c.tensor("weight")) - 2;
  const bool transposed = c.boolean("transposed");
  if (spatial == 3) return emit_conv3d(c, transposed);
  if (spatial != 1 && spatial != 2) {
    c.refuse("with " + std::to_string(spatial) + " spatial dims is not supported");
    return;
  }
  emit_conv(c, spatial, transposed);
}

template <int kSpatial, bool kTransposed>
void conv(RuleContext& c) {
  if constexpr (kSpatial == 3) return emit_conv3d(c, kTransposed);
  emit_conv(c, kSpatial, kTransposed);
}

constexpr RuleEntry kConvEntries[] = {
    {"convolution", convolution},        {"convolution_overrideable", convolution},
    {"_convolution", convolution},       {"conv1d", conv<1, false>},
    {"conv2d", conv<2, false>},          {"conv3d", conv<3, false>},
    {"thnn_conv2d", conv<2, false>},     {"conv_transpose1d", conv<1, true>},
    {"conv_transpose2d", conv<2, true>}, {"conv_transpose3d", conv<3, true>},
};

}  // namespace

const RuleList conv_rules{kConvEntries};

}  // namespace lazyrt
