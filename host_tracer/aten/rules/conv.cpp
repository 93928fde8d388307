// Convolutions of one, two and three spatial dims, those of one and two also transposed.

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

/// What such a text adds to one dim, before and after together.
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

/// One spatial dim of a convolution.
struct Window {
  int64_t kernel, stride, before, after, dilation;
};

std::array<int64_t, 3> triple(RuleContext& c, const char* name, int64_t fallback) {
  const std::vector<int64_t> list = c.ints_or(name, {});
  if (list.empty()) return {fallback, fallback, fallback};
  if (list.size() == 1) return {list[0], list[0], list[0]};
  if (list.size() == 3) return {list[0], list[1], list[2]};
  c.fail_arg(name, "has " + std::to_string(list.size()) + " elements, expected 1 or 3");
  return {fallback, fallback, fallback};
}

std::array<Window, 3> read_windows(RuleContext& c, ValueId weight) {
  const bool by_text = pads_by_text(c);
  const auto stride = triple(c, "stride", 1), dilation = triple(c, "dilation", 1);
  const std::array<int64_t, 3> padding =
      by_text ? std::array<int64_t, 3>{} : triple(c, "padding", 0);
  std::array<Window, 3> windows;
  for (size_t i = 0; i < 3; ++i) {
    const int64_t kernel = c.dim(weight, static_cast<int>(i) + 2);
    const int64_t total = by_text ? text_padding(c, kernel, dilation[i]) : 2 * padding[i];
    windows[i] = {kernel, stride[i], total / 2, total - total / 2, dilation[i]};
  }
  return windows;
}

/// The frames [N,C,D,H,W] that each depth of the result reads, [N,D_out,H,W,C,KD].
ValueId frames_of_windows(RuleContext& c, ValueId x, const Window& depth) {
  const int64_t n = c.dim(x, 0), channels = c.dim(x, 1), frames = c.dim(x, 2), h = c.dim(x, 3),
                w = c.dim(x, 4);
  const bool padded = depth.before + depth.after > 0;
  if (!padded && depth.dilation == 1 && depth.stride == depth.kernel &&
      frames % depth.kernel == 0) {
    x = c.reshape(x, c.make_shape({n, channels, frames / depth.kernel, depth.kernel, h, w}));
    return c.permute(x, {0, 2, 4, 5, 1, 3});
  }
  if (padded) {
    fb::PadT pad;
    pad.before = {0, 0, depth.before, 0, 0};
    pad.after = {0, 0, depth.after, 0, 0};
    x = c.add(pad, {x});
  }
  const int64_t reach = depth.dilation * (depth.kernel - 1) + 1;
  const int64_t out = (c.dim(x, 2) - reach) / depth.stride + 1;
  std::vector<ValueId> taps;
  for (int64_t k = 0; k < depth.kernel; ++k) {
    taps.push_back(c.unsqueeze(c.slice(x, 2, k * depth.dilation, out, depth.stride), 5));
  }
  return c.permute(c.concat(taps, 5), {0, 2, 3, 4, 1, 5});
}

/// One convolution of images whose channels are those of all frames that a window holds.
void emit_conv3d(RuleContext& c) {
  ValueId weight = c.tensor("weight"), x = c.tensor("input");
  const ValueId bias = c.optional_tensor("bias");
  if (c.rank(weight) != 5 || (c.rank(x) != 4 && c.rank(x) != 5)) {
    c.fail_arg("input", "or weight has another rank than a convolution in three spatial dims");
    return;
  }
  const bool batched = c.rank(x) == 5;
  if (!batched) x = c.unsqueeze(x, 0);
  const auto windows = read_windows(c, weight);
  x = frames_of_windows(c, x, windows[0]);
  const int64_t n = c.dim(x, 0), depth = c.dim(x, 1);
  x = c.reshape(x, c.make_shape({n * depth, c.dim(x, 2), c.dim(x, 3), c.dim(x, 4) * c.dim(x, 5)}));
  weight = c.permute(weight, {0, 3, 4, 1, 2});
  weight = c.reshape(weight, c.make_shape({c.dim(weight, 0), c.dim(weight, 1), c.dim(weight, 2),
                                           c.dim(weight, 3) * c.dim(weight, 4)}));
  ConvArgs args;
  args.stride = {windows[1].stride, windows[2].stride};
  args.before = {windows[1].before, windows[2].before};
  args.after = {windows[1].after, windows[2].after};
  args.dilation = {windows[1].dilation, windows[2].dilation};
  args.groups = c.integer_or("groups", 1);
  ValueId y = c.add(conv_attrs<fb::Conv2dT>(args), {x, weight, bias});
  y = c.reshape(y, c.make_shape({n, depth, c.dim(y, 1), c.dim(y, 2), c.dim(y, 3)}));
  y = c.permute(y, {0, 4, 1, 2, 3});
  c.set(batched ? y : c.reshape(y, c.out_shape()));
}

void convolution(RuleContext& c) {
  const int spatial = c.rank(c.tensor("weight")) - 2;
  const bool transposed = c.boolean("transposed");
  if (spatial == 3 && !transposed) return emit_conv3d(c);
  if (spatial != 1 && spatial != 2) {
    c.refuse(std::string(transposed ? "transposed, " : "") + "with " + std::to_string(spatial) +
             " spatial dims is not supported");
    return;
  }
  emit_conv(c, spatial, transposed);
}

template <int kSpatial, bool kTransposed>
void conv(RuleContext& c) {
  emit_conv(c, kSpatial, kTransposed);
}

constexpr const char* kThreeDims = "is not supported: transposed, in three spatial dims";

constexpr RuleEntry kConvEntries[] = {
    {"convolution", convolution},
    {"convolution_overrideable", convolution},
    {"_convolution", convolution},
    {"conv1d", conv<1, false>},
    {"conv2d", conv<2, false>},
    {"thnn_conv2d", conv<2, false>},
    {"conv_transpose1d", conv<1, true>},
    {"conv_transpose2d", conv<2, true>},
    {"conv3d", emit_conv3d},
    {"conv_transpose3d", nullptr, kThreeDims},
};

}  // namespace

const RuleList conv_rules{kConvEntries};

}  // namespace lazyrt
