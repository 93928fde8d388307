// Sampling at computed positions.

#include <algorithm>

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
  if (c.trace_dtype() != c.dtype(grid)) {  // a 16-bit type
    c.refuse(
        "of 16-bit floats is not supported: ATen computes the positions in 16 bits, which are off "
        "by whole pixels; convert image and grid to float32");
    return;
  }
  const ValueId y = c.add(op, {c.permute(x, channels_last(rank)), grid});
  c.set(c.permute(y, channels_first(rank)));
}

/// The centres of n pixels in [-1, 1], or with align_corners -1, …, 1, along one of `rank` axes.
ValueId pixel_centres(RuleContext& c, DType dtype, int64_t n, int axis, int rank, bool corners) {
  std::vector<Scalar> values;
  for (int64_t i = 0; i < n; ++i) {
    const double last = static_cast<double>(corners ? std::max<int64_t>(n - 1, 1) : n);
    const double offset = static_cast<double>(2 * i - (n - 1));
    values.push_back(Scalar(offset / last));
  }
  Shape shape;
  for (int d = 0; d < rank; ++d) shape.append(d == axis ? n : 1);
  return c.constant(dtype, shape, values);
}

/// theta [N,D,D+1], size [N,C,(D,)H,W] -> [N,(D,)H,W,D]: theta times (x, y, (z,) 1) of each pixel.
void affine_grid(RuleContext& c) {
  const ValueId theta = c.tensor("theta");
  const std::vector<int64_t> size = c.ints("size");
  const int dims = static_cast<int>(size.size()) - 2;
  const auto column = [&](int64_t i) {
    Shape shape{c.dim(theta, 0)};
    for (int d = 0; d < dims; ++d) shape.append(1);
    shape.append(dims);
    return c.reshape(c.slice(theta, 2, i, 1), shape);
  };
  ValueId grid = column(dims);
  for (int d = 0; d < dims; ++d) {
    const ValueId centres =
        pixel_centres(c, c.dtype(theta), size[static_cast<size_t>(dims + 1 - d)], dims - d,
                      dims + 2, c.boolean("align_corners"));
    grid = c.binary(fb::BinaryFn::Add, grid, c.binary(fb::BinaryFn::Mul, column(d), centres));
  }
  c.set(grid);
}

constexpr RuleEntry kSampleEntries[] = {
    {"affine_grid_generator", affine_grid},
    {"grid_sampler", grid_sample},
    {"grid_sampler_2d", grid_sample},
    {"grid_sampler_3d", grid_sample},
};

}  // namespace

const RuleList sample_rules{kSampleEntries};

}  // namespace lazyrt
