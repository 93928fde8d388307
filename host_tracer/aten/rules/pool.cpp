// Max and average pooling of one to three spatial dims, sliding and adaptive.

#include <algorithm>

#include "aten/rule_lists.h"
#include "host_tracer/aten/images.h"

namespace lazyrt {
namespace {

using Triple = std::array<int64_t, 3>;

/// What the sliding pools have in common, of depth, height and width.
struct Windows {
  Triple kernel, stride, padding;
  Triple dilation = {1, 1, 1};
  bool ceil_mode = false;
};

Windows read_windows(RuleContext& c, int spatial) {
  Windows w;
  w.kernel = c.triple("kernel_size", spatial, 1, {1, 1, 1});
  w.stride = c.triple("stride", spatial, 1, w.kernel);
  w.padding = c.triple("padding", spatial, 0, {0, 0, 0});
  w.ceil_mode = c.boolean_or("ceil_mode", false);
  return w;
}

/// The windows that divide the image evenly.
Windows even_windows(Triple in, Triple out) {
  Windows w;
  for (size_t i = 0; i < 3; ++i) w.kernel[i] = w.stride[i] = in[i] / out[i];
  w.padding = {0, 0, 0};
  return w;
}

/// Whether the windows of one dim are its elements.
bool keeps(const Windows& w, size_t dim) {
  return w.kernel[dim] == 1 && w.stride[dim] == 1 && w.padding[dim] == 0;
}

template <class TableT>
TableT plane_attrs(const Windows& w) {
  TableT op;
  op.kernel_h = static_cast<int32_t>(w.kernel[1]);
  op.kernel_w = static_cast<int32_t>(w.kernel[2]);
  op.stride_h = static_cast<int32_t>(w.stride[1]);
  op.stride_w = static_cast<int32_t>(w.stride[2]);
  op.pad_top = op.pad_bottom = static_cast<int32_t>(w.padding[1]);
  op.pad_left = op.pad_right = static_cast<int32_t>(w.padding[2]);
  op.ceil_mode = w.ceil_mode;
  if constexpr (std::is_same_v<TableT, fb::MaxPool2dT>) {
    op.dilation_h = static_cast<int32_t>(w.dilation[1]);
    op.dilation_w = static_cast<int32_t>(w.dilation[2]);
  }
  return op;
}

/// Depth in the place of height, and a width that stays.
Windows depth_alone(const Windows& w) {
  const auto of_depth = [](const Triple& all, int64_t unit) -> Triple {
    return {unit, all[0], unit};
  };
  return {of_depth(w.kernel, 1), of_depth(w.stride, 1), of_depth(w.padding, 0),
          of_depth(w.dilation, 1), w.ceil_mode};
}

/// The pool of `x`, channels last, of the spatial dims that it has; a window's extreme is that of
/// its rows' extremes, its mean that of its frames' means.
template <class TableT>
ValueId pooled(RuleContext& c, const Image& x, const Windows& w, const TableT& like = {}) {
  const auto with = [&](const Windows& windows) {
    TableT op = plane_attrs<TableT>(windows);
    if constexpr (std::is_same_v<TableT, fb::AvgPool2dT>) {
      op.count_include_pad = like.count_include_pad;
      op.divisor_override = like.divisor_override;
    }
    return op;
  };
  TableT plane = with(w);
  if (x.spatial < 3) return c.add(plane, {x.nhwc});
  std::optional<TableT> depth;
  if (!keeps(w, 0)) depth = with(depth_alone(w));
  if constexpr (std::is_same_v<TableT, fb::AvgPool2dT>) {
    // A frame's sum, to be divided by the number given once.
    if (depth && plane.divisor_override != 0) plane.divisor_override = 1;
  }
  const bool flat = depth && keeps(w, 1) && keeps(w, 2);
  return by_dims(c, x.nhwc, flat ? std::nullopt : std::optional<TableT>(plane), depth);
}

constexpr const char* kIndices =
    "with indices is not supported: the positions of the maxima are used";

template <int kSpatial>
void max_pool(RuleContext& c) {
  Windows w = read_windows(c, kSpatial);
  w.dilation = c.triple("dilation", kSpatial, 1, {1, 1, 1});
  if (c.used(1)) {
    c.refuse(kIndices);
    return;
  }
  const Image x = to_image(c, c.tensor("self"), kSpatial);
  c.set(from_image(c, x, pooled<fb::MaxPool2dT>(c, x, w)));
}

template <int kSpatial>
void avg_pool(RuleContext& c) {
  const Windows w = read_windows(c, kSpatial);
  fb::AvgPool2dT how;
  how.count_include_pad = c.boolean_or("count_include_pad", true);
  how.divisor_override = static_cast<int32_t>(c.integer_or("divisor_override", 0));
  const Image x = to_image(c, c.tensor("self"), kSpatial);
  c.set(from_image(c, x, pooled(c, x, w, how)));
}

bool divides(Triple in, Triple out) {
  for (size_t i = 0; i < 3; ++i) {
    if (in[i] <= 0 || out[i] <= 0 || in[i] % out[i] != 0) return false;
  }
  return true;
}

/// Depth, height and width of an image; 1 where it has no such dim.
Triple extents(RuleContext& c, const Image& x) {
  if (x.spatial == 3) return {c.dim(x.nhwc, 1), c.dim(x.nhwc, 2), c.dim(x.nhwc, 3)};
  return {1, c.dim(x.nhwc, 1), c.dim(x.nhwc, 2)};
}

/// Extents of the result from the trace, since an output size may be None for "as it is".
Triple adaptive_size(RuleContext& c, int spatial) {
  const Shape s = c.out_shape();
  Triple out = {1, 1, 1};
  for (int i = 0; i < spatial && s.rank() >= spatial; ++i) {
    out[static_cast<size_t>(2 - i)] = s.back(i);
  }
  return out;
}

ValueId global(RuleContext& c, fb::ReduceFn fn, const Image& x) {
  return c.reduce(fn, x.nhwc, x.spatial == 3 ? std::vector<int>{1, 2, 3} : std::vector<int>{1, 2},
                  true);
}

fb::AdaptiveAvgPool2dT adaptive_attrs(int64_t rows, int64_t columns) {
  fb::AdaptiveAvgPool2dT op;
  op.out_h = static_cast<int32_t>(rows);
  op.out_w = static_cast<int32_t>(columns);
  return op;
}

template <int kSpatial>
void adaptive_avg_pool(RuleContext& c) {
  const Image x = to_image(c, c.tensor("self"), kSpatial);
  const Triple in = extents(c, x), out = adaptive_size(c, kSpatial);
  ValueId y = kNoValue;
  if (out == Triple{1, 1, 1}) {
    y = global(c, fb::ReduceFn::Mean, x);
  } else if (in == out && !c.any_size()) {
    y = x.nhwc;
  } else if (divides(in, out) && !c.any_size()) {
    y = pooled<fb::AvgPool2dT>(c, x, even_windows(in, out));
  } else if (kSpatial < 3) {
    y = c.add(adaptive_attrs(out[1], out[2]), {x.nhwc});
  } else {
    y = by_dims<fb::AdaptiveAvgPool2dT>(c, x.nhwc, adaptive_attrs(out[1], out[2]),
                                        adaptive_attrs(out[0], out[1] * out[2]));
  }
  c.set(from_image(c, x, y));
}

template <int kSpatial>
void adaptive_max_pool(RuleContext& c) {
  const Image x = to_image(c, c.tensor("self"), kSpatial);
  const Triple in = extents(c, x), out = adaptive_size(c, kSpatial);
  if (c.used(1)) {
    c.refuse(kIndices);
    return;
  }
  if (!divides(in, out)) {
    c.refuse("to a size that does not divide the image's is not supported");
    return;
  }
  ValueId y = x.nhwc;
  if (out == Triple{1, 1, 1}) {
    y = global(c, fb::ReduceFn::Max, x);
  } else if (in != out) {
    y = pooled<fb::MaxPool2dT>(c, x, even_windows(in, out));
  }
  c.set(from_image(c, x, y));
}

constexpr const char* kRandom = "is not supported: it draws its windows at random";

constexpr RuleEntry kPoolEntries[] = {
    {"max_pool1d", max_pool<1>},
    {"max_pool1d_with_indices", max_pool<1>},
    {"max_pool2d", max_pool<2>},
    {"max_pool2d_with_indices", max_pool<2>},
    {"max_pool3d", max_pool<3>},
    {"max_pool3d_with_indices", max_pool<3>},
    {"avg_pool1d", avg_pool<1>},
    {"avg_pool2d", avg_pool<2>},
    {"avg_pool3d", avg_pool<3>},
    {"adaptive_avg_pool1d", adaptive_avg_pool<1>},
    {"adaptive_avg_pool2d", adaptive_avg_pool<2>},
    {"_adaptive_avg_pool2d", adaptive_avg_pool<2>},
    {"adaptive_avg_pool3d", adaptive_avg_pool<3>},
    {"_adaptive_avg_pool3d", adaptive_avg_pool<3>},
    {"adaptive_max_pool1d", adaptive_max_pool<1>},
    {"adaptive_max_pool2d", adaptive_max_pool<2>},
    {"adaptive_max_pool3d", adaptive_max_pool<3>},
    {"fractional_max_pool2d", nullptr, kRandom},
    {"fractional_max_pool3d", nullptr, kRandom},
};

}  // namespace

const RuleList pool_rules{kPoolEntries};

}  // namespace lazyrt
