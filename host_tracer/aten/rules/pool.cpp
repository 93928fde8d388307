// Max and average pooling of one and two spatial dims, sliding and adaptive.

#include "aten/rule_lists.h"
#include "host_tracer/aten/images.h"

namespace lazyrt {
namespace {

using Pair = std::array<int64_t, 2>;

/// What the sliding pools have in common.
template <class TableT>
TableT window_attrs(RuleContext& c, int spatial) {
  const Pair kernel = c.pair("kernel_size", spatial, 1, {1, 1});
  const Pair stride = c.pair("stride", spatial, 1, kernel);
  const Pair padding = c.pair("padding", spatial, 0, {0, 0});
  TableT op;
  op.kernel_h = static_cast<int32_t>(kernel[0]);
  op.kernel_w = static_cast<int32_t>(kernel[1]);
  op.stride_h = static_cast<int32_t>(stride[0]);
  op.stride_w = static_cast<int32_t>(stride[1]);
  op.pad_top = op.pad_bottom = static_cast<int32_t>(padding[0]);
  op.pad_left = op.pad_right = static_cast<int32_t>(padding[1]);
  op.ceil_mode = c.boolean_or("ceil_mode", false);
  return op;
}

template <int kSpatial>
void max_pool(RuleContext& c) {
  auto op = window_attrs<fb::MaxPool2dT>(c, kSpatial);
  const Pair dilation = c.pair("dilation", kSpatial, 1, {1, 1});
  op.dilation_h = static_cast<int32_t>(dilation[0]);
  op.dilation_w = static_cast<int32_t>(dilation[1]);
  if (c.used(1)) {
    c.refuse("with indices is not supported: the positions of the maxima are used");
    return;
  }
  const Image x = to_image(c, c.tensor("self"), kSpatial);
  c.set(from_image(c, x, c.add(op, {x.nhwc})));
}

template <int kSpatial>
void avg_pool(RuleContext& c) {
  auto op = window_attrs<fb::AvgPool2dT>(c, kSpatial);
  op.count_include_pad = c.boolean_or("count_include_pad", true);
  op.divisor_override = static_cast<int32_t>(c.integer_or("divisor_override", 0));
  const Image x = to_image(c, c.tensor("self"), kSpatial);
  c.set(from_image(c, x, c.add(op, {x.nhwc})));
}

/// The windows of an adaptive pool that divide the image evenly: kernel and stride.
template <class TableT>
TableT even_windows(Pair in, Pair out) {
  TableT op;
  op.kernel_h = op.stride_h = static_cast<int32_t>(in[0] / out[0]);
  op.kernel_w = op.stride_w = static_cast<int32_t>(in[1] / out[1]);
  return op;
}

bool divides(Pair in, Pair out) {
  const bool some = in[0] > 0 && in[1] > 0 && out[0] > 0 && out[1] > 0;
  return some && in[0] % out[0] == 0 && in[1] % out[1] == 0;
}

/// Extents of the result from the trace, since an output size may be None for "as it is".
Pair adaptive_size(RuleContext& c, int spatial) {
  const Shape s = c.out_shape();
  if (s.rank() < spatial) return {1, 1};
  return {spatial == 1 ? 1 : s.back(1), s.back(0)};
}

template <int kSpatial>
void adaptive_avg_pool(RuleContext& c) {
  const Image x = to_image(c, c.tensor("self"), kSpatial);
  const Pair in = {c.dim(x.nhwc, 1), c.dim(x.nhwc, 2)};
  const Pair out = adaptive_size(c, kSpatial);
  ValueId y = kNoValue;
  if (out == Pair{1, 1}) {
    y = c.reduce(fb::ReduceFn::Mean, x.nhwc, {1, 2}, true);
  } else if (in == out && !c.any_size()) {
    y = x.nhwc;
  } else if (divides(in, out) && !c.any_size()) {
    y = c.add(even_windows<fb::AvgPool2dT>(in, out), {x.nhwc});
  } else {
    fb::AdaptiveAvgPool2dT op;
    op.out_h = static_cast<int32_t>(out[0]);
    op.out_w = static_cast<int32_t>(out[1]);
    y = c.add(op, {x.nhwc});
  }
  c.set(from_image(c, x, y));
}

template <int kSpatial>
void adaptive_max_pool(RuleContext& c) {
  const Image x = to_image(c, c.tensor("self"), kSpatial);
  const Pair in = {c.dim(x.nhwc, 1), c.dim(x.nhwc, 2)};
  const Pair out = adaptive_size(c, kSpatial);
  if (c.used(1) || !divides(in, out)) {
    c.refuse(c.used(1) ? "with indices is not supported: the positions of the maxima are used"
                       : "to a size that does not divide the image's is not supported");
    return;
  }
  ValueId y = x.nhwc;
  if (out == Pair{1, 1}) {
    y = c.reduce(fb::ReduceFn::Max, y, {1, 2}, true);
  } else if (in != out) {
    y = c.add(even_windows<fb::MaxPool2dT>(in, out), {y});
  }
  c.set(from_image(c, x, y));
}

constexpr const char* kThreeDims = "is not supported: pooling in three spatial dims";
constexpr const char* kRandom = "is not supported: it draws its windows at random";

constexpr RuleEntry kPoolEntries[] = {
    {"max_pool1d", max_pool<1>},
    {"max_pool1d_with_indices", max_pool<1>},
    {"max_pool2d", max_pool<2>},
    {"max_pool2d_with_indices", max_pool<2>},
    {"avg_pool1d", avg_pool<1>},
    {"avg_pool2d", avg_pool<2>},
    {"adaptive_avg_pool1d", adaptive_avg_pool<1>},
    {"adaptive_avg_pool2d", adaptive_avg_pool<2>},
    {"_adaptive_avg_pool2d", adaptive_avg_pool<2>},
    {"adaptive_max_pool1d", adaptive_max_pool<1>},
    {"adaptive_max_pool2d", adaptive_max_pool<2>},
    {"max_pool3d", nullptr, kThreeDims},
    {"max_pool3d_with_indices", nullptr, kThreeDims},
    {"avg_pool3d", nullptr, kThreeDims},
    {"adaptive_avg_pool3d", nullptr, kThreeDims},
    {"_adaptive_avg_pool3d", nullptr, kThreeDims},
    {"adaptive_max_pool3d", nullptr, kThreeDims},
    {"fractional_max_pool2d", nullptr, kRandom},
    {"fractional_max_pool3d", nullptr, kRandom},
};

}  // namespace

const RuleList pool_rules{kPoolEntries};

}  // namespace lazyrt
