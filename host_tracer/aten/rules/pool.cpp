// Max and average pooling of one to three spatial dims, sliding and adaptive.

#include <algorithm>

#include "aten/rule_lists.h"
#include "host_tracer/aten/images.h"

namespace lazyrt {
namespace {

using Triple = std::array<int64_t, 3>;

/// The parameters that all sliding pools have, for depth, height and width.
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

/// Whether each window of one dim is a single element, in order.
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

/// Uses depth in the place of height, and leaves the width alone.
Windows depth_alone(const Windows& w) {
  const auto of_depth = [](const Triple& all, int64_t unit) -> Triple {
    return {unit, all[0], unit};
  };
  return {of_depth(w.kernel, 1), of_depth(w.stride, 1), of_depth(w.padding, 0),
          of_depth(w.dilation, 1), w.ceil_mode};
}

/// The pool of `x`, channels last, over the spatial dims that it has. The extreme of a window is
/// that of its rows' extremes; its mean is that of its frames' means.
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
    // The sum of a frame; the given divisor is applied once, later.
    if (depth && plane.divisor_override != 0) plane.divisor_override = 1;
  }
  const bool flat = depth && keeps(w, 1) && keeps(w, 2);
  return by_dims(c, x.nhwc, flat ? std::nullopt : std::optional<TableT>(plane), depth);
}

/// Depth, height and width of an image; 1 where it has no such dim.
Triple extents(RuleContext& c, const Image& x) {
  if (x.spatial == 3) return {c.dim(x.nhwc, 1), c.dim(x.nhwc, 2), c.dim(x.nhwc, 3)};
  return {1, c.dim(x.nhwc, 1), c.dim(x.nhwc, 2)};
}

/// For each window and each of its elements, both in row-major order: the position in an image of
/// these extents. An element in the padding has the position of the window's first element inside
/// the image.
std::vector<int64_t> window_places(const Windows& w, Triple in, Triple out) {
  std::vector<int64_t> places;
  for (int64_t d = 0; d < out[0]; ++d) {
    for (int64_t h = 0; h < out[1]; ++h) {
      for (int64_t v = 0; v < out[2]; ++v) {
        const Triple window = {d, h, v};
        const size_t begin = places.size();
        int64_t first = -1;
        for (int64_t i = 0; i < w.kernel[0] * w.kernel[1] * w.kernel[2]; ++i) {
          const Triple step = {i / (w.kernel[1] * w.kernel[2]), i / w.kernel[2] % w.kernel[1],
                               i % w.kernel[2]};
          int64_t place = 0;
          for (size_t k = 0; k < 3 && place >= 0; ++k) {
            const int64_t at = window[k] * w.stride[k] - w.padding[k] + step[k] * w.dilation[k];
            place = at < 0 || at >= in[k] ? -1 : place * in[k] + at;
          }
          if (first < 0) first = place;
          places.push_back(place);
        }
        std::replace(places.begin() + static_cast<ptrdiff_t>(begin), places.end(), int64_t{-1},
                     first);
      }
    }
  }
  return places;
}

/// Result 1 is the position of the largest element of each window in its plane: as in ATen's
/// kernels, the first of equal ones, and the last NaN.
void set_places_of_largest(RuleContext& c, const Image& x, const Windows& w) {
  if (c.any_size()) {
    c.refuse("with indices is not supported where sizes vary");
    return;
  }
  const Triple in = extents(c, x);
  Triple out = {1, 1, 1};
  for (int i = 0; i < x.spatial; ++i) out[static_cast<size_t>(2 - i)] = c.out_shape(1).back(i);
  const int64_t windows = out[0] * out[1] * out[2], planes = in[0] * in[1] * in[2];
  const int64_t window = w.kernel[0] * w.kernel[1] * w.kernel[2];
  const int64_t n = c.dim(x.nhwc, 0), channels = c.dim(x.nhwc, -1);
  if (!c.ok()) return;

  const ValueId ids = c.constant_ints(c.make_shape({windows * window}), window_places(w, in, out));
  const ValueId pixels = c.reshape(x.nhwc, c.make_shape({n, planes, channels}));
  const Shape of_windows = c.make_shape({n, windows, window, channels});
  const ValueId all = c.reshape(c.index_select(pixels, 1, ids), of_windows);
  const ValueId places =
      c.expand(c.reshape(ids, c.make_shape({1, windows, window, 1})), of_windows);
  const auto among = [&](ValueId condition, int64_t otherwise, fb::ReduceFn fn) {
    const ValueId none = c.filled(DType::kInt64, of_windows, otherwise);
    return c.reduce(fn, c.where(condition, places, none), {2}, false);
  };
  const ValueId largest = c.expand(c.reduce(fb::ReduceFn::Max, all, {2}, true), of_windows);
  ValueId found = among(c.binary(fb::BinaryFn::Eq, all, largest), planes, fb::ReduceFn::Min);
  if (is_floating(c.dtype(all))) {
    const ValueId nan = c.binary(fb::BinaryFn::Ne, all, all);
    found = c.where(c.reduce(fb::ReduceFn::Any, nan, {2}, false), among(nan, -1, fb::ReduceFn::Max),
                    found);
  }
  const ValueId spatial =
      x.spatial == 3 ? c.reshape(found, c.make_shape({n, out[0], out[1], out[2], channels}))
                     : c.reshape(found, c.make_shape({n, out[1], out[2], channels}));
  c.set(1, from_image(c, x, spatial));
}

template <int kSpatial>
void max_pool(RuleContext& c) {
  Windows w = read_windows(c, kSpatial);
  w.dilation = c.triple("dilation", kSpatial, 1, {1, 1, 1});
  const Image x = to_image(c, c.tensor("self"), kSpatial);
  if (c.used(1)) set_places_of_largest(c, x, w);
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

/// Takes the extents of the result from the trace, since an output size may be None for
/// "unchanged".
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

/// The largest element of each of `out` windows along an axis. Window i begins at floor(i in / out)
/// and ends before ceil((i + 1) in / out); a window that is shorter than others repeats its last
/// element.
ValueId max_of_windows(RuleContext& c, ValueId x, int axis, int64_t in, int64_t out) {
  const auto begin_of = [&](int64_t i) { return i * in / out; };
  const auto end_of = [&](int64_t i) { return ((i + 1) * in + out - 1) / out; };
  int64_t window = 1;
  for (int64_t i = 0; i < out; ++i) window = std::max(window, end_of(i) - begin_of(i));
  std::vector<int64_t> places;
  for (int64_t i = 0; i < out; ++i) {
    for (int64_t k = 0; k < window; ++k) places.push_back(std::min(begin_of(i) + k, end_of(i) - 1));
  }
  std::vector<int64_t> shape;
  for (int d = 0; d < c.shape(x).rank(); ++d) {
    shape.push_back(d == axis ? out : c.dim(x, d));
    if (d == axis) shape.push_back(window);
  }
  const ValueId ids = c.constant_ints(c.make_shape({out * window}), places);
  const ValueId windows = c.reshape(c.index_select(x, axis, ids), c.make_shape(shape));
  return c.reduce(fb::ReduceFn::Max, windows, {axis + 1}, false);
}

/// The extreme of a window is that of its rows' extremes.
void adaptive_max_pool_unevenly(RuleContext& c, const Image& x, Triple in, Triple out) {
  if (c.used(1) || c.any_size()) {
    c.refuse(std::string("to a size that does not divide the image's size is not supported ") +
             (c.used(1) ? "with indices" : "where sizes vary"));
    return;
  }
  ValueId y = x.nhwc;
  for (int i = 0; i < 3; ++i) {
    const auto dim = static_cast<size_t>(i);
    const int axis = x.spatial == 3 ? i + 1 : i;
    if (in[dim] != out[dim]) y = max_of_windows(c, y, axis, in[dim], out[dim]);
  }
  c.set(from_image(c, x, y));
}

template <int kSpatial>
void adaptive_max_pool(RuleContext& c) {
  const Image x = to_image(c, c.tensor("self"), kSpatial);
  const Triple in = extents(c, x), out = adaptive_size(c, kSpatial);
  if (std::min({in[0], in[1], in[2], out[0], out[1], out[2]}) <= 0) {
    c.refuse("of an empty image is not supported");
    return;
  }
  if (!divides(in, out)) return adaptive_max_pool_unevenly(c, x, in, out);
  if (c.used(1)) set_places_of_largest(c, x, even_windows(in, out));
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
