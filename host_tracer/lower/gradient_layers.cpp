// Gradients of convolutions, pools, norms, look-ups and resizing.

#include <ATen/ATen.h>
#include <torch/csrc/autograd/function.h>

#include <functional>

#include "host_tracer/lower/gradient_ops.h"
#include "host_tracer/record/capture_session.h"
#include "host_tracer/record/lowering.h"

namespace lazyrt {
namespace {

using Args = RuleArgs;
using Tensors = std::vector<at::Tensor>;
using Sizes = std::vector<int64_t>;
using at::Tensor;

Tensor reshaped(const Tensor& t, const Sizes& sizes) { return at::_reshape_copy(t, sizes); }

Tensor constant(const Tensor& cpu) {
  return CaptureSession::current()->add_constant(cpu.contiguous());
}

std::vector<bool> mask_of(const Args& a) {
  const auto list = a.at("output_mask").toBoolList();
  return {list.begin(), list.end()};
}

Sizes pick(const Args& a, const char* name, size_t count, int64_t fallback = 1) {
  Sizes values = a.ints(name);
  if (values.empty()) values.assign(count, fallback);
  if (values.size() == 1) values.assign(count, values[0]);
  return values;
}

// ---------------------------------------------------------------- writing back what was read

Tensor zeros(const Tensor& like, const Sizes& sizes) { return at::zeros(sizes, like.options()); }

Tensors select(const Args& a) {
  const Tensor g = a.tensor("grad_output");
  return {
      at::select_scatter(zeros(g, a.ints("input_sizes")), g, a.integer("dim"), a.integer("index"))};
}

Tensors slice(const Args& a) {
  const Tensor g = a.tensor("grad_output");
  return {at::slice_scatter(zeros(g, a.ints("input_sizes")), g, a.integer("dim"),
                            a.integer("start"), a.integer("end"), a.integer("step"))};
}

Tensors diagonal(const Args& a) {
  const Tensor g = a.tensor("grad_output");
  return {at::diagonal_scatter(zeros(g, a.ints("input_sizes")), g, a.integer("offset"),
                               a.integer("dim1"), a.integer("dim2"))};
}

/// Whether each element lies in exactly one window.
bool windows_are_all(const Args& a) {
  const Sizes sizes = a.ints("input_sizes");
  const int64_t dim = a.integer("dim"), size = a.integer("size");
  if (sizes.empty()) return true;
  const int64_t extent = sizes.at(static_cast<size_t>(dim < 0 ? dim + std::ssize(sizes) : dim));
  return size == extent || (size == a.integer("step") && extent % size == 0);
}

/// Windows [..., count, ..., size] added at their places.
Tensors unfold(const Args& a) {
  const Tensor g = a.tensor("grad_in");
  // Functionalization writes windows back by it: it adds up what they share and forgets what lies
  // in none of them.
  TORCH_CHECK(AskedFor::active() || windows_are_all(a),
              "the program writes into windows of unfold that overlap or leave elements out, which "
              "the capture cannot follow: write into the tensor itself, or clone() the windows");
  const Sizes sizes = a.ints("input_sizes");
  const int64_t dim = a.integer("dim"), axis = dim < 0 ? dim + g.dim() - 1 : dim;
  const Tensor starts = at::arange(g.size(axis), at::kLong) * a.integer("step");
  const Tensor places = (starts.unsqueeze(1) + at::arange(a.integer("size"), at::kLong)).flatten();
  Sizes order;
  for (int64_t d = 0; d + 1 < g.dim(); ++d) {
    order.push_back(d);
    if (d == axis) order.push_back(g.dim() - 1);
  }
  Sizes flat = sizes;
  flat[static_cast<size_t>(axis)] = places.numel();
  const Tensor windows = reshaped(at::permute_copy(g, order), flat);
  return {at::index_add(zeros(g, sizes), axis, constant(places), windows)};
}

Tensors embedding(const Args& a) {
  Tensor g = a.tensor("grad_output");
  const Tensor ids = a.tensor("indices");
  TORCH_CHECK(!a.boolean("scale_grad_by_freq"),
              "aten::embedding_dense_backward with scale_grad_by_freq is not supported");
  const int64_t width = g.size(-1), padding = a.integer("padding_idx");
  if (padding >= 0) {
    const Tensor used = at::unsqueeze_copy(at::ne(ids, padding), -1);
    g = at::where(used, g, at::zeros_like(g));
  }
  return {at::index_add(zeros(g, {a.integer("num_weights"), width}), 0,
                        reshaped(ids, {ids.numel()}), reshaped(g, {ids.numel(), width}))};
}

// ---------------------------------------------------------------- convolution

struct Conv {
  explicit Conv(const Args& a)
      : grad(a.tensor("grad_output")),
        input(a.tensor("input")),
        weight(a.tensor("weight")),
        dims(static_cast<size_t>(weight.dim() - 2)),
        stride(pick(a, "stride", dims)),
        padding(pick(a, "padding", dims, 0)),
        dilation(pick(a, "dilation", dims)),
        transposed(a.boolean("transposed")),
        groups(a.integer("groups")) {}

  Tensor grad, input, weight;
  size_t dims;
  Sizes stride, padding, dilation;
  bool transposed;
  int64_t groups;
};

Tensor convolve(const Conv& c, const Tensor& x, const Tensor& weight, bool transposed,
                const Sizes& output_padding) {
  return at::convolution(x, weight, std::nullopt, c.stride, c.padding, c.dilation, transposed,
                         output_padding, c.groups);
}

Tensor conv_input_gradient(const Conv& c) {
  const Sizes none(c.dims, 0);
  if (c.transposed) return convolve(c, c.grad, c.weight, false, none);
  Sizes rest;  // rows that no window reached
  for (size_t i = 0; i < c.dims; ++i) {
    const auto d = static_cast<int64_t>(i) + 2;
    const int64_t reached = (c.grad.size(d) - 1) * c.stride[i] - 2 * c.padding[i] +
                            c.dilation[i] * (c.weight.size(d) - 1) + 1;
    rest.push_back(c.input.size(d) - reached);
  }
  return convolve(c, c.grad, c.weight, true, rest);
}

/// Of one group: a convolution of the input by the gradient, where batch and channels change places
/// and so do stride and dilation.
Tensor conv_weight_gradient(const Conv& c, const Tensor& x, const Tensor& window) {
  Tensor result =
      at::convolution(at::transpose_copy(x, 0, 1), at::transpose_copy(window, 0, 1), std::nullopt,
                      c.dilation, c.padding, c.stride, false, Sizes(c.dims, 0), 1);
  for (size_t i = 0; i < c.dims; ++i) {
    const auto d = static_cast<int64_t>(i) + 2;
    result = at::slice_copy(result, d, 0, c.weight.size(d));
  }
  return at::transpose_copy(result, 0, 1);
}

Tensor conv_weight_gradient(const Conv& c) {
  const Tensor& x = c.transposed ? c.grad : c.input;
  const Tensor& window = c.transposed ? c.input : c.grad;
  const int64_t of_x = x.size(1) / c.groups, of_window = window.size(1) / c.groups;
  Tensors parts;
  for (int64_t g = 0; g < c.groups; ++g) {
    parts.push_back(
        conv_weight_gradient(c, at::slice_copy(x, 1, g * of_x, (g + 1) * of_x),
                             at::slice_copy(window, 1, g * of_window, (g + 1) * of_window)));
  }
  return parts.size() == 1 ? parts[0] : at::cat(parts, 0);
}

Tensors convolution(const Args& a) {
  const Conv c(a);
  const std::vector<bool> mask = mask_of(a);
  Tensors results(3);
  if (mask[0]) results[0] = conv_input_gradient(c);
  if (mask[1]) results[1] = conv_weight_gradient(c);
  Sizes all_but_channels = {0};
  for (int64_t d = 2; d < c.grad.dim(); ++d) all_but_channels.push_back(d);
  if (mask[2]) results[2] = at::sum(c.grad, all_but_channels);
  return results;
}

// ---------------------------------------------------------------- pools

struct Pool {
  explicit Pool(const Args& a)
      : grad(a.tensor("grad_output")),
        self(a.tensor("self")),
        kernel(pick(a, "kernel_size", 2)),
        stride(a.ints("stride").empty() ? kernel : pick(a, "stride", 2)),
        padding(pick(a, "padding", 2, 0)) {}

  int64_t height() const { return self.size(-2); }
  int64_t width() const { return self.size(-1); }
  int64_t planes() const {
    const int64_t plane = height() * width();
    return plane == 0 ? 0 : self.numel() / plane;
  }

  Tensor grad, self;
  Sizes kernel, stride, padding;
};

/// By element of the gradient and of its window: where in a plane of self it lies; -1: in the
/// padding.
Tensor window_places(const Pool& p, const Sizes& dilation) {
  const auto along = [&](size_t i, int64_t extent) {
    const auto d = static_cast<int64_t>(i) - 2;
    const Tensor starts = at::arange(p.grad.size(d), at::kLong) * p.stride[i] - p.padding[i];
    const Tensor at = starts.unsqueeze(1) + at::arange(p.kernel[i], at::kLong) * dilation[i];
    return at.masked_fill(at::logical_or(at.lt(0), at.ge(extent)), -1);
  };
  const Tensor rows = along(0, p.height()), columns = along(1, p.width());
  const Tensor r = rows.view({rows.size(0), 1, rows.size(1), 1});
  const Tensor c = columns.view({1, columns.size(0), 1, columns.size(1)});
  const Tensor places = at::where(at::logical_or(r.lt(0), c.lt(0)), -1, r * p.width() + c);
  return places.reshape({-1, p.kernel[0] * p.kernel[1]});
}

/// The largest of each window gets the gradient; the first of equals, as in the forward.
Tensors max_pool2d(const Args& a) {
  const Pool p(a);
  const Tensor places = window_places(p, pick(a, "dilation", 2));
  const int64_t windows = places.size(0), taps = places.size(1), planes = p.planes();
  const Tensor flat = reshaped(p.self, {planes, p.height() * p.width()});
  const Tensor seen = at::index_select(flat, 1, constant(places.clamp_min(0).flatten()));
  const double lowest = -std::numeric_limits<double>::infinity();
  // A padding's tap wins only where all is -inf: then the first pixel does.
  const Tensor first = at::where(places.ge(0), places, p.height() * p.width()).amin(1, true);
  const Tensor pixels =
      at::where(places.ge(0), places, first).clamp_max(p.height() * p.width() - 1);
  const Tensor values =
      at::where(constant(places.ge(0).unsqueeze(0)), reshaped(seen, {planes, windows, taps}),
                at::scalar_tensor(lowest, p.self.options()));
  const Tensor best = at::argmax(values, -1, true);
  const Tensor place =
      at::gather(at::expand_copy(constant(pixels.unsqueeze(0)), {planes, windows, taps}), 2, best);
  const Tensor sum =
      at::scatter_add(zeros(p.grad, flat.sizes().vec()), 1, reshaped(place, {planes, windows}),
                      reshaped(p.grad, {planes, windows}));
  return {reshaped(sum, p.self.sizes().vec())};
}

Tensors avg_pool2d(const Args& a) {
  const Pool p(a);
  const auto pool_ones = [&](bool count_padding, std::optional<int64_t> divisor) {
    return at::avg_pool2d(at::ones({1, 1, p.height(), p.width()}), p.kernel, p.stride, p.padding,
                          a.boolean("ceil_mode"), count_padding, divisor);
  };
  const auto divisor = a.at("divisor_override").toOptional<int64_t>();
  const Tensor weight =
      pool_ones(a.boolean("count_include_pad"), divisor) / pool_ones(true, 1);  // of each element
  const Tensor places = window_places(p, {1, 1});
  const int64_t windows = places.size(0), taps = places.size(1), planes = p.planes();
  const Tensor factors = at::where(places.ge(0), weight.reshape({windows, 1}), 0);
  const Tensor shares = reshaped(p.grad, {planes, windows, 1}) *
                        constant(factors.to(p.grad.scalar_type()).unsqueeze(0));
  const Tensor g = at::where(constant(places.ge(0).unsqueeze(0)), shares,
                             at::scalar_tensor(0, p.grad.options()));
  const Tensor sum =
      at::index_add(zeros(g, {planes, p.height() * p.width()}), 1,
                    constant(places.clamp_min(0).flatten()), reshaped(g, {planes, windows * taps}));
  return {reshaped(sum, p.self.sizes().vec())};
}

// ---------------------------------------------------------------- linear along height and width

/// The product with a matrix [in, out] of few elements along one axis, by those alone: 0 times an
/// infinity is not added.
Tensor times_sparse(const Tensor& grad, int64_t axis, const Tensor& matrix) {
  const Tensor places = matrix.nonzero();  // [elements, 2]
  Sizes sizes = grad.sizes().vec(), along(sizes.size(), 1);
  const auto dim = static_cast<size_t>(axis + grad.dim());
  sizes[dim] = matrix.size(0);
  along[dim] = places.size(0);
  const Tensor factors = at::masked_select(matrix, matrix.ne(0)).to(grad.scalar_type());
  Tensor shares = at::index_select(grad, axis, constant(places.select(1, 1).contiguous()));
  if (!factors.eq(1).all().item<bool>()) shares = shares * constant(factors.view(along));
  return at::index_add(zeros(grad, sizes), axis, constant(places.select(1, 0).contiguous()),
                       shares);
}

/// The matrix [out, in] of an operator that works on each dim by itself: what it makes of the unit
/// vectors. `forward` gets [1, in, in, 1] for rows (or [1, in, 1, in] for columns).
using Separable = std::function<Tensor(const Tensor& image, int64_t height, int64_t width)>;

Tensor gradient_by_matrices(const Tensor& grad, const Sizes& in, const Separable& forward) {
  const int64_t h = in[in.size() - 2], w = in[in.size() - 1];
  const int64_t out_h = grad.size(-2), out_w = grad.size(-1);
  const Tensor rows = forward(at::eye(h).view({1, h, h, 1}).expand({1, h, h, w}), out_h, out_w)
                          .select(3, 0)
                          .squeeze(0);  // [h, out_h]
  const Tensor columns = forward(at::eye(w).view({1, w, 1, w}).expand({1, w, h, w}), out_h, out_w)
                             .select(2, 0)
                             .squeeze(0);  // [w, out_w]
  return times_sparse(times_sparse(grad, -2, rows), -1, columns);
}

Tensors adaptive_avg_pool2d(const Args& a) {
  const Separable forward = [](const Tensor& x, int64_t h, int64_t w) {
    return at::_adaptive_avg_pool2d(x, {h, w});
  };
  return {gradient_by_matrices(a.tensor("grad_output"), a.tensor("self").sizes().vec(), forward)};
}

std::optional<double> scale(const Args& a, const char* name) {
  return a.at(name).toOptional<double>();
}

template <Tensor (*kResize)(const Tensor&, at::IntArrayRef, bool, std::optional<double>,
                            std::optional<double>)>
Tensors smooth_resize(const Args& a) {
  const Separable forward = [&](const Tensor& x, int64_t h, int64_t w) {
    return kResize(x, {h, w}, a.boolean("align_corners"), scale(a, "scales_h"),
                   scale(a, "scales_w"));
  };
  return {gradient_by_matrices(a.tensor("grad_output"), a.ints("input_size"), forward)};
}

template <Tensor (*kResize)(const Tensor&, at::IntArrayRef, std::optional<double>,
                            std::optional<double>)>
Tensors nearest_resize(const Args& a) {
  const Separable forward = [&](const Tensor& x, int64_t h, int64_t w) {
    return kResize(x, {h, w}, scale(a, "scales_h"), scale(a, "scales_w"));
  };
  return {gradient_by_matrices(a.tensor("grad_output"), a.ints("input_size"), forward)};
}

template <Tensor (*kPad)(const Tensor&, at::IntArrayRef)>
Tensors pad2d(const Args& a) {
  const Separable forward = [&](const Tensor& x, int64_t, int64_t) {
    return kPad(x, a.ints("padding"));
  };
  return {gradient_by_matrices(a.tensor("grad_output"), a.tensor("self").sizes().vec(), forward)};
}

/// As rows of an image of height 1.
template <Tensor (*kPad)(const Tensor&, at::IntArrayRef)>
Tensors pad1d(const Args& a) {
  const Tensor g = a.tensor("grad_output"), x = a.tensor("self");
  const int64_t n = x.size(-1);
  const Tensor matrix = kPad(at::eye(n).unsqueeze(0), a.ints("padding")).squeeze(0);
  return {times_sparse(g, -1, matrix)};
}

/// What the operator makes of the unit vectors [1, in, in], the other way round.
Tensors resized1d(const Args& a, const std::function<Tensor(const Tensor&, int64_t)>& forward) {
  const Tensor g = a.tensor("grad_output");
  const int64_t in = a.ints("input_size").back();
  const Tensor matrix = forward(at::eye(in).unsqueeze(0), g.size(-1)).squeeze(0);
  return {times_sparse(g, -1, matrix)};
}

Tensors upsample_linear1d(const Args& a) {
  return resized1d(a, [&](const Tensor& x, int64_t size) {
    return at::upsample_linear1d(x, {size}, a.boolean("align_corners"), scale(a, "scales"));
  });
}

/// Where ATen's forward goes by the scale, its gradient copies or doubles rows that keep or double
/// their extent, as nearest2d does both ways.
Tensors upsample_nearest1d(const Args& a) {
  return resized1d(a, [&](const Tensor& x, int64_t size) {
    return at::upsample_nearest2d(x.unsqueeze(-2), {1, size}, 1.0, scale(a, "scales")).squeeze(-2);
  });
}

// ---------------------------------------------------------------- norms

Sizes last_dims(const Tensor& t, size_t count) {
  Sizes dims;
  for (int64_t d = t.dim() - static_cast<int64_t>(count); d < t.dim(); ++d) dims.push_back(d);
  return dims;
}

Sizes other_dims(const Tensor& t, const Sizes& dims) {
  Sizes rest;
  for (int64_t d = 0; d < t.dim(); ++d) {
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) rest.push_back(d);
  }
  return rest;
}

Tensor sum_over(const Tensor& t, const Sizes& dims) { return dims.empty() ? t : at::sum(t, dims); }

/// Through (x - mean) * rstd, whose mean and rstd depend on x over `dims`; `g`: of the normalized.
Tensor through_moments(const Tensor& g, const Tensor& normalized, const Tensor& rstd,
                       const Sizes& dims) {
  const Tensor mean = at::mean(g, dims, true);
  const Tensor slope = at::mean(g * normalized, dims, true);
  return (g - mean - normalized * slope) * rstd;
}

Tensors layer_norm(const Args& a) {
  const Tensor x = a.tensor("input"), rstd = a.tensor("rstd"), g = a.tensor("grad_out");
  const Tensor weight = a.optional_tensor("weight");
  const Sizes dims = last_dims(x, a.ints("normalized_shape").size());
  const Tensor normalized = (x - a.tensor("mean")) * rstd;
  const std::vector<bool> mask = mask_of(a);
  Tensors results(3);
  if (mask[0]) {
    results[0] = through_moments(weight.defined() ? g * weight : g, normalized, rstd, dims);
  }
  if (mask[1]) results[1] = sum_over(g * normalized, other_dims(x, dims));
  if (mask[2]) results[2] = sum_over(g, other_dims(x, dims));
  return results;
}

Tensors rms_norm(const Args& a) {
  const Tensor x = a.tensor("input"), rstd = a.tensor("rstd"), g = a.tensor("grad_out");
  const Tensor weight = a.optional_tensor("weight");
  const Sizes dims = last_dims(x, a.ints("normalized_shape").size());
  const Tensor normalized = x * rstd;
  const std::vector<bool> mask = mask_of(a);
  Tensors results(2);
  if (mask[0]) {
    const Tensor inner = weight.defined() ? g * weight : g;
    results[0] = (inner - normalized * at::mean(inner * normalized, dims, true)) * rstd;
  }
  if (mask[1]) results[1] = sum_over(g * normalized, other_dims(x, dims));
  return results;
}

/// A vector over channels as [1, C, 1, ...].
Tensor along_channels(const Tensor& v, const Tensor& like) {
  Sizes sizes(static_cast<size_t>(like.dim()), 1);
  sizes[1] = v.numel();
  return reshaped(v, sizes);
}

Tensors affine_gradients(const std::vector<bool>& mask, const Tensor& g, const Tensor& normalized) {
  const Sizes dims = other_dims(g, {1});
  Tensors results(3);
  if (mask[1]) results[1] = sum_over(g * normalized, dims);
  if (mask[2]) results[2] = sum_over(g, dims);
  return results;
}

Tensors group_norm(const Args& a) {
  const Tensor x = a.tensor("input"), g = a.tensor("grad_out");
  const Tensor weight = a.optional_tensor("weight");
  const int64_t n = a.integer("N"), groups = a.integer("group");
  const Sizes grouped = {n, groups, a.integer("C") / groups * a.integer("HxW")};
  const Tensor rstd = reshaped(a.tensor("rstd"), {n, groups, 1});
  const Tensor mean = reshaped(a.tensor("mean"), {n, groups, 1});
  const Tensor normalized = (reshaped(x, grouped) - mean) * rstd;
  const Tensor inner = weight.defined() ? g * along_channels(weight, x) : g;
  const std::vector<bool> mask = mask_of(a);
  Tensors results = affine_gradients(mask, g, reshaped(normalized, x.sizes().vec()));
  if (mask[0]) {
    const Tensor dx = through_moments(reshaped(inner, grouped), normalized, rstd, {2});
    results[0] = reshaped(dx, x.sizes().vec());
  }
  return results;
}

Tensors batch_norm(const Args& a) {
  const Tensor x = a.tensor("input"), g = a.tensor("grad_out");
  const Tensor weight = a.optional_tensor("weight");
  const bool train = a.boolean("train");
  const double eps = a.at("eps").toDouble();
  const Sizes dims = other_dims(x, {1});
  const Tensor mean = train ? at::mean(x, dims, true) : along_channels(a.tensor("running_mean"), x);
  const Tensor variance = train ? at::mean(at::square(x - mean), dims, true)
                                : along_channels(a.tensor("running_var"), x);
  const Tensor rstd = at::rsqrt(variance + eps);
  const Tensor normalized = (x - mean) * rstd;
  const Tensor inner = weight.defined() ? g * along_channels(weight, x) : g;
  const std::vector<bool> mask = mask_of(a);
  Tensors results = affine_gradients(mask, g, normalized);
  if (mask[0]) results[0] = train ? through_moments(inner, normalized, rstd, dims) : inner * rstd;
  return results;
}

/// w = v * g / norm(v)
Tensors weight_norm(const Args& a) {
  const Tensor dw = a.tensor("grad_w"), v = a.tensor("saved_v");
  const Tensor norms = a.tensor("saved_norms");
  const Sizes dims = other_dims(v, {a.integer("dim")});
  const Tensor along = at::sum(dw * v, dims, true) / norms;
  return {(dw - v * along / norms) * (a.tensor("saved_g") / norms), along};
}

// ---------------------------------------------------------------- distances

/// d |x1 - x2|_p: of each pair, then summed over the second set.
Tensors cdist(const Args& a) {
  const Tensor difference =
      at::unsqueeze_copy(a.tensor("x1"), -2) - at::unsqueeze_copy(a.tensor("x2"), -3);
  const Tensor distance = at::unsqueeze_copy(a.tensor("cdist"), -1);
  const Tensor g = at::unsqueeze_copy(a.tensor("grad"), -1);
  const double p = a.at("p").toDouble();
  TORCH_CHECK(p == 1 || p == 2, "the gradient of cdist with p=", p, " is not supported, only 1, 2");
  if (p == 1) {
    const Tensor sign = at::where(at::isnan(difference), difference, at::sign(difference));
    return {at::sum(g * sign, {-2})};
  }
  const Tensor slope = at::where(at::eq(distance, 0), at::zeros_like(distance), g / distance);
  return {at::sum(slope * difference, {-2})};
}

}  // namespace

const GradientFormulas& layer_gradients() {
  static const GradientFormulas formulas = {
      {"_adaptive_avg_pool2d_backward", rounded_once<adaptive_avg_pool2d>},
      {"_cdist_backward", rounded_once<cdist>},
      {"_fused_rms_norm_backward", rounded_once<rms_norm>},
      {"_upsample_nearest_exact2d_backward",
       rounded_once<nearest_resize<at::_upsample_nearest_exact2d>>},
      {"_weight_norm_interface_backward", rounded_once<weight_norm>},
      {"avg_pool2d_backward", rounded_once<avg_pool2d>},
      {"convolution_backward", rounded_once<convolution>},
      {"diagonal_backward", diagonal},
      {"embedding_dense_backward", embedding},
      {"max_pool2d_with_indices_backward", max_pool2d},
      {"native_batch_norm_backward", rounded_once<batch_norm>},
      {"native_group_norm_backward", rounded_once<group_norm>},
      {"native_layer_norm_backward", rounded_once<layer_norm>},
      {"reflection_pad1d_backward", rounded_once<pad1d<at::reflection_pad1d>>},
      {"reflection_pad2d_backward", rounded_once<pad2d<at::reflection_pad2d>>},
      {"replication_pad1d_backward", rounded_once<pad1d<at::replication_pad1d>>},
      {"replication_pad2d_backward", rounded_once<pad2d<at::replication_pad2d>>},
      {"select_backward", select},
      {"slice_backward", slice},
      {"unfold_backward", unfold},
      {"upsample_bicubic2d_backward", rounded_once<smooth_resize<at::upsample_bicubic2d>>},
      {"upsample_bilinear2d_backward", rounded_once<smooth_resize<at::upsample_bilinear2d>>},
      {"upsample_linear1d_backward", rounded_once<upsample_linear1d>},
      {"upsample_nearest1d_backward", rounded_once<upsample_nearest1d>},
      {"upsample_nearest2d_backward", rounded_once<nearest_resize<at::upsample_nearest2d>>},
  };
  return formulas;
}

}  // namespace lazyrt
