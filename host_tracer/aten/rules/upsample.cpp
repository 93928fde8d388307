// Resizing of images.

#include <algorithm>
#include <array>
#include <cmath>

#include "aten/rule_lists.h"
#include "host_tracer/aten/images.h"

namespace lazyrt {
namespace {

using fb::UpsampleMode;

/// The scale of one dim: an argument of its own, or an element of the list in the .vec overloads;
/// 0: none.
double scale_arg(RuleContext& c, const char* name, size_t position) {
  if (c.has(name)) return c.number(name).as_double();
  const std::vector<double> list = c.doubles_or("scale_factors", {});
  return position < list.size() ? list[position] : 0;
}

/// Returns `scale`, or 0 if ATen uses the extents anyway: linear modes and nearest2d copy a side
/// that keeps its extent, and nearest2d doubles one that doubles.
double scale_in_use(UpsampleMode mode, int spatial, int64_t in, int64_t out, double scale) {
  const bool nearest2d = mode == UpsampleMode::Nearest && spatial == 2;
  if (in == out && (nearest2d || mode == UpsampleMode::Bilinear)) return 0;
  return nearest2d && out == 2 * in ? 0 : scale;
}

/// Extents and scales of depth, height and width; the extent is 1 if the image has no such dim.
struct Target {
  std::array<int64_t, 3> extent = {1, 1, 1};
  std::array<double, 3> scale = {0, 0, 0};
};

Target read_target(RuleContext& c, UpsampleMode mode, int spatial, ValueId image) {
  constexpr std::array<const char*, 3> kScales = {"scales_d", "scales_h", "scales_w"};
  const Shape out = c.out_shape();
  Target target;
  for (int i = 0; i < spatial; ++i) {
    const int dim = i - spatial;
    const auto at = static_cast<size_t>(dim) + 3;
    target.extent[at] = out.back(-1 - dim);
    target.scale[at] =
        scale_in_use(mode, spatial, c.dim(image, dim), target.extent[at],
                     scale_arg(c, spatial == 1 ? "scales" : kScales[at], static_cast<size_t>(i)));
  }
  return target;
}

fb::Upsample2dT resize_attrs(RuleContext& c, UpsampleMode mode, int64_t rows, int64_t columns,
                             double row_scale, double column_scale) {
  fb::Upsample2dT op;
  op.mode = mode;
  op.align_corners = c.boolean_or("align_corners", false);
  op.out_h = static_cast<int32_t>(rows);
  op.out_w = static_cast<int32_t>(columns);
  op.scale_h = row_scale;
  op.scale_w = column_scale;
  return op;
}

template <UpsampleMode kMode, int kSpatial>
void upsample(RuleContext& c) {
  const ValueId image = c.tensor(c.has("self") ? "self" : "input");
  const Image x = to_image(c, image, kSpatial);
  if (c.out_shape().rank() < kSpatial) {
    c.fail(Error::kInternal, "its result is not an image");
    return;
  }
  const auto [extent, scale] = read_target(c, kMode, kSpatial, image);
  const fb::Upsample2dT plane = resize_attrs(c, kMode, extent[1], extent[2], scale[1], scale[2]);
  if (kSpatial < 3) return c.set(from_image(c, x, c.add(plane, {x.nhwc})));
  const fb::Upsample2dT depth =
      resize_attrs(c, kMode, extent[0], extent[1] * extent[2], scale[0], 0);
  c.set(from_image(c, x, by_dims<fb::Upsample2dT>(c, x.nhwc, plane, depth)));
}

// ---------------------------------------------------------------- antialiased

double triangle(double x) { return std::fabs(x) < 1 ? 1 - std::fabs(x) : 0; }

/// Keys' cubic with a = -0.5, as PIL has it.
double cubic(double x) {
  constexpr double kA = -0.5;
  x = std::fabs(x);
  if (x < 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * kA : 0;
}

/// Input pixels for an output pixel, as ATen computes it.
double step_of(int64_t in, int64_t out, bool align_corners, double scale) {
  if (align_corners)
    return out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0;
  return scale > 0 ? 1 / scale : static_cast<double>(in) / static_cast<double>(out);
}

int64_t nearest(double x) { return static_cast<int64_t>(std::floor(x + 0.5)); }

/// [out, in]: the weight of each input pixel in each output pixel. `radius` is the filter's at
/// scales up to 1; shrinking widens it (UpSampleKernel.cpp, _compute_indices_weights_aa).
std::vector<Scalar> shares(int64_t in, int64_t out, double step, double (*filter)(double),
                           double radius) {
  std::vector<Scalar> matrix(static_cast<size_t>(in * out), Scalar(0.0));
  const double width = std::max(step, 1.0);
  for (int64_t i = 0; i < out; ++i) {
    const double center = step * (static_cast<double>(i) + 0.5);
    const auto first = std::max(nearest(center - radius * width), int64_t{0});
    const auto end = std::min(nearest(center + radius * width), in);
    const auto weight = [&](int64_t j) {
      return filter((static_cast<double>(j) - center + 0.5) / width);
    };
    double total = 0;
    for (int64_t j = first; j < end; ++j) total += weight(j);
    for (int64_t j = first; j < end && total != 0; ++j) {
      matrix[static_cast<size_t>(i * in + j)] = Scalar(weight(j) / total);
    }
  }
  return matrix;
}

/// Resizes the last axis of x. ATen copies an axis that keeps its extent, whatever the scale.
template <class Filter>
ValueId resized(RuleContext& c, ValueId x, int64_t out, double scale, Filter filter,
                double radius) {
  const int64_t in = c.shape(x).back(0);
  if (in == out) return x;
  const double step = step_of(in, out, c.boolean_or("align_corners", false), scale);
  const ValueId matrix =
      c.constant(c.dtype(x), c.make_shape({out, in}), shares(in, out, step, filter, radius));
  return c.matmul(x, matrix, /*transpose_b=*/true);
}

/// Two products with the weights of input pixels: width first, as ATen does it.
template <double (*kFilter)(double), int kRadius>
void antialiased(RuleContext& c) {
  const ValueId x = c.tensor(c.has("self") ? "self" : "input");
  const Shape out = c.out_shape();
  if (c.rank(x) != 4 || out.rank() != 4 || !is_floating(c.dtype(x))) {
    c.refuse("with antialias=True is supported for floating [N,C,H,W] only");
    return;
  }
  ValueId y = resized(c, x, out.back(0), scale_arg(c, "scales_w", 1), kFilter, kRadius);
  y = resized(c, c.transpose(y, 2, 3), out.back(1), scale_arg(c, "scales_h", 0), kFilter, kRadius);
  c.set(c.transpose(y, 2, 3));
}

constexpr RuleEntry kUpsampleEntries[] = {
    {"upsample_nearest1d", upsample<UpsampleMode::Nearest, 1>},
    {"upsample_nearest2d", upsample<UpsampleMode::Nearest, 2>},
    {"_upsample_nearest_exact1d", upsample<UpsampleMode::NearestExact, 1>},
    {"_upsample_nearest_exact2d", upsample<UpsampleMode::NearestExact, 2>},
    {"upsample_linear1d", upsample<UpsampleMode::Bilinear, 1>},
    {"upsample_bilinear2d", upsample<UpsampleMode::Bilinear, 2>},
    {"upsample_bicubic2d", upsample<UpsampleMode::Bicubic, 2>},
    {"_upsample_bilinear2d_aa", antialiased<triangle, 1>},
    {"_upsample_bicubic2d_aa", antialiased<cubic, 2>},
    {"upsample_nearest3d", upsample<UpsampleMode::Nearest, 3>},
    {"_upsample_nearest_exact3d", upsample<UpsampleMode::NearestExact, 3>},
    {"upsample_trilinear3d", upsample<UpsampleMode::Bilinear, 3>},
};

}  // namespace

const RuleList upsample_rules{kUpsampleEntries};

}  // namespace lazyrt
