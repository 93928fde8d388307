// Sliding patches as columns (torch.nn.Unfold and Fold), and operators on pairs of rows.

#include <cmath>

#include "aten/rule_lists.h"

namespace lazyrt {
namespace {

using Pair = std::array<int64_t, 2>;
using fb::BinaryFn;

/// How patches lie on a padded image.
struct Patches {
  Pair kernel, stride, padding, dilation;
  Pair image;   ///< padded extents
  Pair counts;  ///< patches along height and width
};

Patches read_patches(RuleContext& c, Pair extents) {
  Patches p;
  p.kernel = c.pair("kernel_size", 2, 1, {1, 1});
  p.stride = c.pair("stride", 2, 1, {1, 1});
  p.padding = c.pair("padding", 2, 0, {0, 0});
  p.dilation = c.pair("dilation", 2, 1, {1, 1});
  for (size_t i = 0; i < 2; ++i) {
    p.image[i] = extents[i] + 2 * p.padding[i];
    const int64_t span = p.dilation[i] * (p.kernel[i] - 1) + 1;
    if (p.stride[i] < 1 || p.image[i] < span) {
      c.fail_arg("kernel_size", "does not fit the image");
      return p;
    }
    p.counts[i] = (p.image[i] - span) / p.stride[i] + 1;
  }
  return p;
}

/// [kernel elements * patches]: the position of each element in the padded image.
std::vector<int64_t> positions(const Patches& p) {
  std::vector<int64_t> ids;
  for (int64_t kh = 0; kh < p.kernel[0]; ++kh) {
    for (int64_t kw = 0; kw < p.kernel[1]; ++kw) {
      for (int64_t ph = 0; ph < p.counts[0]; ++ph) {
        for (int64_t pw = 0; pw < p.counts[1]; ++pw) {
          const int64_t row = ph * p.stride[0] + kh * p.dilation[0];
          ids.push_back(row * p.image[1] + pw * p.stride[1] + kw * p.dilation[1]);
        }
      }
    }
  }
  return ids;
}

/// Pads height and width of [N,C,H,W]; negative values crop.
ValueId pad_image(RuleContext& c, ValueId x, Pair padding) {
  if (padding == Pair{0, 0}) return x;
  fb::PadT op;
  op.before = {0, 0, padding[0], padding[1]};
  op.after = op.before;
  return c.add(op, {x});
}

/// [N,C,H,W] -> [N, C * kernel elements, patches].
void im2col(RuleContext& c) {
  ValueId x = c.tensor("self");
  if (c.rank(x) == 3) x = c.unsqueeze(x, 0);
  const Patches p = read_patches(c, {c.dim(x, 2), c.dim(x, 3)});
  if (!c.ok()) return;
  const std::vector<int64_t> ids = positions(p);
  const ValueId padded = pad_image(c, x, p.padding);
  const ValueId flat = c.reshape(padded, {c.dim(x, 0), c.dim(x, 1), p.image[0] * p.image[1]});
  const ValueId index = c.constant_ints({static_cast<int64_t>(ids.size())}, ids);
  c.set(c.reshape(c.index_select(flat, 2, index), c.out_shape()));
}

/// The sum of overlapping patches: [N, C * kernel elements, patches] -> [N,C,H,W].
void col2im(RuleContext& c) {
  ValueId x = c.tensor("self");
  if (c.rank(x) == 2) x = c.unsqueeze(x, 0);
  const Pair size = c.pair("output_size", 2, 1, {1, 1});
  const Patches p = read_patches(c, size);
  if (!c.ok()) return;
  const std::vector<int64_t> ids = positions(p);
  const auto elements = static_cast<int64_t>(ids.size());
  const int64_t batch = c.dim(x, 0);
  const int64_t channels = c.dim(x, 1) / (p.kernel[0] * p.kernel[1]);
  const ValueId src = c.reshape(x, {batch, channels, elements});
  fb::ScatterT op;
  op.axis = 2;
  op.fn = fb::ScatterFn::Add;
  const ValueId index = c.expand(c.constant_ints({1, 1, elements}, ids), c.shape(src));
  const ValueId blank = c.filled(c.dtype(x), {batch, channels, p.image[0] * p.image[1]}, 0);
  const ValueId summed =
      c.reshape(c.add(op, {blank, index, src}), {batch, channels, p.image[0], p.image[1]});
  c.set(c.reshape(pad_image(c, summed, {-p.padding[0], -p.padding[1]}), c.out_shape()));
}

/// Element i of the axis becomes element (i + by) mod 3.
ValueId rotated(RuleContext& c, ValueId x, int axis, int64_t by) {
  return c.concat({c.slice(x, axis, by, 3 - by), c.slice(x, axis, 0, by)}, axis);
}

/// a x b along a dim of 3.
void cross(RuleContext& c) {
  const ValueId a = c.expand(c.cast(c.tensor("self"), c.out_dtype()), c.out_shape());
  const ValueId b = c.expand(c.cast(c.tensor("other"), c.out_dtype()), c.out_shape());
  const int axis = c.axis(c.integer_or("dim", -1), c.rank(a));
  if (c.dim(a, axis) != 3) {
    c.fail_arg("dim", "does not have extent 3");
    return;
  }
  const ValueId left = c.binary(BinaryFn::Mul, rotated(c, a, axis, 1), rotated(c, b, axis, 2));
  const ValueId right = c.binary(BinaryFn::Mul, rotated(c, a, axis, 2), rotated(c, b, axis, 1));
  c.set(c.binary(BinaryFn::Sub, left, right));
}

/// Euclidean and other distances between all rows: [..., P, M], [..., R, M] -> [..., P, R].
void cdist(RuleContext& c) {
  const ValueId a = c.tensor("x1");
  const ValueId b = c.tensor("x2");
  const double p = c.number_or("p", 2.0).as_double();
  if (c.rank(a) < 2 || c.rank(b) < 2 || (p != 1 && p != 2)) {
    c.refuse("with p=" + std::to_string(p) + " is not supported (1 and 2 are)");
    return;
  }
  const ValueId difference =
      c.binary(BinaryFn::Sub, c.unsqueeze(a, c.rank(a) - 1), c.unsqueeze(b, c.rank(b) - 2));
  const int axis = c.rank(difference) - 1;
  const auto fn = p == 1 ? fb::UnaryFn::Abs : fb::UnaryFn::Square;
  const ValueId sum = c.reduce(fb::ReduceFn::Sum, c.unary(fn, difference), {axis}, false);
  c.set(p == 1 ? sum : c.unary(fb::UnaryFn::Sqrt, sum));
}

constexpr RuleEntry kPatchesEntries[] = {
    {"im2col", im2col}, {"col2im", col2im},        {"linalg_cross", cross},    {"cross", cross},
    {"cdist", cdist},   {"_cdist_forward", cdist}, {"_euclidean_dist", cdist},
};

}  // namespace

const RuleList patches_rules{kPatchesEntries};

}  // namespace lazyrt
