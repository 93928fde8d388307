// Convolutions of one and two spatial dims, plain and transposed.

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

/// "same" and "valid", which conv2d.padding takes for numbers.
void read_padding(RuleContext& c, int spatial, ConvArgs& args) {
  if (c.has("padding") && std::holds_alternative<std::string>(*c.node().find("padding"))) {
    const bool same = c.text_or("padding", "") == "same";
    for (int i = 0; i < 2; ++i) {
      const auto at = static_cast<size_t>(i);
      const int64_t total = same ? args.dilation[at] * (c.dim(args.weight, i + 2) - 1) : 0;
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

void convolution(RuleContext& c) {
  const int spatial = c.rank(c.tensor("weight")) - 2;
  if (spatial != 1 && spatial != 2) {
    c.refuse("with " + std::to_string(spatial) + " spatial dims is not supported (1 and 2 are)");
    return;
  }
  emit_conv(c, spatial, c.boolean("transposed"));
}

template <int kSpatial, bool kTransposed>
void conv(RuleContext& c) {
  emit_conv(c, kSpatial, kTransposed);
}

constexpr const char* kThreeDims = "is not supported: convolution in three spatial dims";

constexpr RuleEntry kConvEntries[] = {
    {"convolution", convolution},        {"convolution_overrideable", convolution},
    {"_convolution", convolution},       {"conv1d", conv<1, false>},
    {"conv2d", conv<2, false>},          {"thnn_conv2d", conv<2, false>},
    {"conv_transpose1d", conv<1, true>}, {"conv_transpose2d", conv<2, true>},
    {"conv3d", nullptr, kThreeDims},     {"conv_transpose3d", nullptr, kThreeDims},
};

}  // namespace

const RuleList conv_rules{kConvEntries};

}  // namespace lazyrt
