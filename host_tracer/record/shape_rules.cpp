#include "host_tracer/record/shape_rules.h"

#include <ATen/ATen.h>
#include <ATen/ExpandUtils.h>

#include <algorithm>
#include <unordered_map>

#include "host_tracer/record/op_args.h"
#include "kernels/binary/binary_function.h"
#include "kernels/unary/unary_function.h"

namespace lazyrt {
namespace {

using torch::lazy::Shape;
using Sizes = std::vector<int64_t>;

Shape shape_of(const at::Tensor& t) { return Shape(t.scalar_type(), t.sizes()); }

Shape with_sizes(const at::Tensor& t, const Sizes& sizes) { return Shape(t.scalar_type(), sizes); }

int64_t pick(const Sizes& values, size_t i) { return values.size() == 1 ? values[0] : values[i]; }

int64_t wrap_dim(int64_t dim, int64_t rank) {
  return dim < 0 ? dim + std::max<int64_t>(rank, 1) : dim;
}

// ---------------------------------------------------------------- elementwise

RuleResult same_as_self(const RuleArgs& a) { return {shape_of(a.tensor("self"))}; }
RuleResult same_as_src(const RuleArgs& a) { return {shape_of(a.tensor("src"))}; }
RuleResult same_as_input(const RuleArgs& a) { return {shape_of(a.tensor("input"))}; }

RuleResult bool_as_self(const RuleArgs& a) { return {Shape(at::kBool, a.tensor("self").sizes())}; }

RuleResult safe_softmax(const RuleArgs& a) {
  const at::Tensor self = a.tensor("self");
  const auto dtype = a.at("dtype").toOptional<at::ScalarType>();
  return {Shape(dtype.value_or(self.scalar_type()), self.sizes())};
}

RuleResult native_dropout(const RuleArgs& a) {
  const at::Tensor input = a.tensor("input");
  return {shape_of(input), Shape(at::kBool, input.sizes())};
}

at::ScalarType float_type(const at::Tensor& t) {
  return at::isFloatingType(t.scalar_type()) ? t.scalar_type() : at::kFloat;
}

/// Integers become floats, the shape stays.
RuleResult float_as_self(const RuleArgs& a) {
  const at::Tensor self = a.tensor("self");
  return {Shape(float_type(self), self.sizes())};
}

/// self and other broadcast to the promoted type; either may be a number.
RuleResult binary(const RuleArgs& a) {
  const c10::IValue &x = a.at("self"), &y = a.at("other");
  if (x.isTensor() && y.isTensor()) {
    return {Shape(at::result_type(x.toTensor(), y.toTensor()),
                  at::infer_size(x.toTensor().sizes(), y.toTensor().sizes()))};
  }
  if (x.isTensor()) {
    return {Shape(at::result_type(x.toTensor(), y.toScalar()), x.toTensor().sizes())};
  }
  return {Shape(at::result_type(x.toScalar(), y.toTensor()), y.toTensor().sizes())};
}

/// logical_and and the like: a truth value for each broadcast element.
RuleResult truth_of_both(const RuleArgs& a) { return {Shape(at::kBool, binary(a)[0]->sizes())}; }

RuleResult float_of_both(const RuleArgs& a) {
  Shape shape = *binary(a)[0];
  const at::ScalarType type = shape.scalar_type();
  const bool integral = at::isIntegralType(type, true);
  return {Shape(integral ? at::get_default_dtype_as_scalartype() : type, shape.sizes())};
}

RuleResult where(const RuleArgs& a) {
  const at::Tensor self = a.tensor("self"), other = a.tensor("other");
  const auto sizes =
      at::infer_size(at::infer_size(self.sizes(), other.sizes()), a.tensor("condition").sizes());
  return {Shape(at::result_type(self, other), sizes)};
}

// ---------------------------------------------------------------- matrix products

RuleResult linear(const RuleArgs& a) {
  const at::Tensor input = a.tensor("input"), weight = a.tensor("weight");
  TORCH_CHECK(input.dim() >= 1 && (weight.dim() == 1 || weight.dim() == 2),
              "aten::linear: input of rank ", input.dim(), ", weight of rank ", weight.dim());
  TORCH_CHECK(input.size(-1) == weight.size(-1), "aten::linear: input ", input.sizes(),
              " has another last dimension than weight ", weight.sizes());
  Sizes sizes = input.sizes().vec();
  sizes.pop_back();
  if (weight.dim() == 2) sizes.push_back(weight.size(0));
  return {with_sizes(input, sizes)};
}

RuleResult matmul(const RuleArgs& a) {
  const at::Tensor x = a.tensor("self"), y = a.tensor("other");
  TORCH_CHECK(x.dim() >= 1 && y.dim() >= 1, "aten::matmul: both operands need rank 1 or more");
  const int64_t inner = y.dim() == 1 ? y.size(0) : y.size(-2);
  TORCH_CHECK(x.size(-1) == inner, "aten::matmul: ", x.sizes(), " does not fit ", y.sizes());
  TORCH_CHECK(x.scalar_type() == y.scalar_type(), "aten::matmul: dtypes ", x.scalar_type(), " and ",
              y.scalar_type(), " differ");
  const auto batch_x = x.sizes().slice(0, static_cast<size_t>(std::max<int64_t>(x.dim() - 2, 0)));
  const auto batch_y = y.sizes().slice(0, static_cast<size_t>(std::max<int64_t>(y.dim() - 2, 0)));
  Sizes sizes = at::infer_size(batch_x, batch_y);
  if (x.dim() >= 2) sizes.push_back(x.size(-2));
  if (y.dim() >= 2) sizes.push_back(y.size(-1));
  return {with_sizes(x, sizes)};
}

RuleResult int_mm(const RuleArgs& a) {
  return {Shape(at::kInt, Sizes{a.tensor("self").size(0), a.tensor("mat2").size(1)})};
}

RuleResult addbmm(const RuleArgs& a) {
  const at::Tensor x = a.tensor("batch1"), y = a.tensor("batch2");
  return {with_sizes(x, {x.size(1), y.size(2)})};
}

/// Rows in groups, a matrix for each group.
RuleResult grouped_mm(const RuleArgs& a) {
  const at::Tensor x = a.tensor("self"), y = a.tensor("mat2");
  TORCH_CHECK(x.dim() == 2 && y.dim() == 3 && x.size(1) == y.size(1),
              "aten::_grouped_mm: ", x.sizes(), " and ", y.sizes(),
              " are no rows in groups ([T,K] and [E,K,N])");
  return {with_sizes(x, {x.size(0), y.size(2)})};
}

RuleResult cdist(const RuleArgs& a) {
  const at::Tensor x = a.tensor("x1"), y = a.tensor("x2");
  Sizes sizes = at::infer_size(x.sizes().slice(0, static_cast<size_t>(x.dim() - 2)),
                               y.sizes().slice(0, static_cast<size_t>(y.dim() - 2)));
  sizes.insert(sizes.end(), {x.size(-2), y.size(-2)});
  return {with_sizes(x, sizes)};
}

RuleResult attention(const RuleArgs& a) {
  const at::Tensor q = a.tensor("query"), k = a.tensor("key"), v = a.tensor("value");
  TORCH_CHECK(q.dim() >= 2 && k.dim() >= 2 && v.dim() >= 2 && q.size(-1) == k.size(-1) &&
                  k.size(-2) == v.size(-2),
              "aten::scaled_dot_product_attention: query ", q.sizes(), ", key ", k.sizes(),
              ", value ", v.sizes(), " do not fit");
  Sizes sizes = q.sizes().vec();
  if (!a.boolean("enable_gqa")) {
    sizes = at::infer_size(q.sizes().slice(0, static_cast<size_t>(q.dim() - 2)),
                           v.sizes().slice(0, static_cast<size_t>(v.dim() - 2)));
    sizes.insert(sizes.end(), {q.size(-2), 0});
  }
  sizes.back() = v.size(-1);
  return {with_sizes(q, sizes)};
}

// ---------------------------------------------------------------- convolution and pooling

int64_t conv_out(int64_t in, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation) {
  TORCH_CHECK(stride > 0 && dilation > 0, "stride and dilation must be positive");
  const int64_t span = in + 2 * pad - dilation * (kernel - 1) - 1;
  TORCH_CHECK(span >= 0, "kernel of ", kernel, " (dilation ", dilation,
              ") is larger than the padded input of ", in + 2 * pad);
  return span / stride + 1;
}

RuleResult convolution(const RuleArgs& a) {
  const at::Tensor input = a.tensor("input"), weight = a.tensor("weight");
  const Sizes stride = a.ints("stride"), pad = a.ints("padding"), dilation = a.ints("dilation");
  const Sizes extra = a.ints("output_padding");
  const bool transposed = a.boolean("transposed");
  const int64_t groups = a.integer("groups"), rank = weight.dim();
  TORCH_CHECK(rank >= 3, "aten::convolution: weight of rank ", rank);
  const bool batched = input.dim() == rank;
  TORCH_CHECK(batched || input.dim() == rank - 1, "aten::convolution: input of rank ", input.dim(),
              " with weight of rank ", rank);
  const int64_t channels = input.size(batched ? 1 : 0);
  TORCH_CHECK(channels == (transposed ? weight.size(0) : weight.size(1) * groups),
              "aten::convolution: input ", input.sizes(), " does not fit weight ", weight.sizes(),
              " with ", groups, " groups");
  Sizes sizes = input.sizes().slice(0, batched ? 1 : 0).vec();
  sizes.push_back(transposed ? weight.size(1) * groups : weight.size(0));
  for (int64_t d = 2; d < rank; ++d) {
    const size_t i = static_cast<size_t>(d - 2);
    const int64_t in = input.size(batched ? d : d - 1), kernel = weight.size(d);
    const int64_t s = pick(stride, i), p = pick(pad, i), dil = pick(dilation, i);
    sizes.push_back(transposed ? (in - 1) * s - 2 * p + dil * (kernel - 1) + pick(extra, i) + 1
                               : conv_out(in, kernel, s, p, dil));
  }
  return {with_sizes(input, sizes)};
}

int64_t pool_out(int64_t in, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation,
                 bool ceil_mode) {
  TORCH_CHECK(stride > 0, "pooling stride must be positive");
  const int64_t span = in + 2 * pad - dilation * (kernel - 1) - 1;
  TORCH_CHECK(span >= 0, "pooling kernel of ", kernel, " is larger than the padded input of ",
              in + 2 * pad);
  int64_t out = (span + (ceil_mode ? stride - 1 : 0)) / stride + 1;
  if (ceil_mode && (out - 1) * stride >= in + pad) --out;
  return out;
}

/// Pooling over the trailing dims; `spatial` is their number.
RuleResult pool(const RuleArgs& a, int64_t spatial, bool dilated) {
  const at::Tensor self = a.tensor("self");
  const Sizes kernel = a.ints("kernel_size"), pad = a.ints("padding");
  Sizes stride = a.ints("stride");
  if (stride.empty()) stride = kernel;
  const Sizes dilation = dilated ? a.ints("dilation") : Sizes{1};
  TORCH_CHECK(self.dim() == spatial + 1 || self.dim() == spatial + 2, "pooling input of rank ",
              self.dim());
  Sizes sizes = self.sizes().vec();
  for (int64_t d = 0; d < spatial; ++d) {
    const size_t i = static_cast<size_t>(d), at = sizes.size() - static_cast<size_t>(spatial) + i;
    sizes[at] = pool_out(sizes[at], pick(kernel, i), pick(stride, i), pick(pad, i),
                         pick(dilation, i), a.boolean("ceil_mode"));
  }
  return {with_sizes(self, sizes)};
}

RuleResult max_pool1d(const RuleArgs& a) { return pool(a, 1, true); }
RuleResult max_pool2d(const RuleArgs& a) { return pool(a, 2, true); }
RuleResult max_pool3d(const RuleArgs& a) { return pool(a, 3, true); }
RuleResult avg_pool1d(const RuleArgs& a) { return pool(a, 1, false); }

RuleResult adaptive_pool(const RuleArgs& a) {
  const at::Tensor self = a.tensor("self");
  const Sizes out = a.ints("output_size");
  TORCH_CHECK(!out.empty() && self.dim() > static_cast<int64_t>(out.size()),
              "adaptive pooling input of rank ", self.dim());
  Sizes sizes = self.sizes().vec();
  std::copy(out.begin(), out.end(), sizes.end() - static_cast<std::ptrdiff_t>(out.size()));
  return {with_sizes(self, sizes)};
}

// ---------------------------------------------------------------- normalisation

RuleResult native_layer_norm(const RuleArgs& a) {
  const at::Tensor input = a.tensor("input");
  const Sizes normalized = a.ints("normalized_shape");
  const int64_t outer = input.dim() - static_cast<int64_t>(normalized.size());
  TORCH_CHECK(outer >= 0 && input.sizes().slice(static_cast<size_t>(outer)) == normalized,
              "aten::native_layer_norm: input ", input.sizes(), " does not end in ", normalized);
  Sizes stats = input.sizes().vec();
  std::fill(stats.begin() + outer, stats.end(), 1);
  return {shape_of(input), with_sizes(input, stats), with_sizes(input, stats)};
}

RuleResult native_group_norm(const RuleArgs& a) {
  const at::Tensor input = a.tensor("input");
  const Sizes stats = {a.integer("N"), a.integer("group")};
  return {shape_of(input), with_sizes(input, stats), with_sizes(input, stats)};
}

RuleResult native_batch_norm(const RuleArgs& a) {
  const at::Tensor input = a.tensor("input");
  const Sizes stats = {a.boolean("training") ? input.size(1) : 0};
  return {shape_of(input), with_sizes(input, stats), with_sizes(input, stats)};
}

/// Statistics of the batch itself, none kept.
RuleResult batch_norm_of_batch(const RuleArgs& a) {
  const at::Tensor input = a.tensor("input");
  const Shape stats = with_sizes(input, {input.size(1)});
  return {shape_of(input), stats, stats};
}

/// The batch's statistics, then the running ones.
RuleResult batch_norm_functional(const RuleArgs& a) {
  RuleResult results = batch_norm_of_batch(a);
  results.push_back(shape_of(a.tensor("running_mean")));
  results.push_back(shape_of(a.tensor("running_var")));
  return results;
}

RuleResult weight_norm(const RuleArgs& a) {
  return {shape_of(a.tensor("v")), shape_of(a.tensor("g"))};
}

RuleResult batch_norm_inference(const RuleArgs& a) {
  const at::Tensor input = a.tensor("input");
  return {shape_of(input), with_sizes(input, {0}), with_sizes(input, {0})};
}

// ---------------------------------------------------------------- reductions

/// The shape after reducing `dims` (none given: all).
Sizes reduced_sizes(const at::Tensor& self, Sizes dims, bool keepdim) {
  const int64_t rank = self.dim();
  for (int64_t& d : dims) d = wrap_dim(d, rank);
  Sizes sizes;
  for (int64_t d = 0; d < rank; ++d) {
    const bool reduced = dims.empty() || std::find(dims.begin(), dims.end(), d) != dims.end();
    if (!reduced) sizes.push_back(self.size(d));
    if (reduced && keepdim) sizes.push_back(1);
  }
  return sizes;
}

Sizes reduced_sizes(const RuleArgs& a) {
  return reduced_sizes(a.tensor("self"), a.ints("dim"), a.boolean("keepdim"));
}

/// std and var by correction.
RuleResult moment(const RuleArgs& a) { return {with_sizes(a.tensor("self"), reduced_sizes(a))}; }

/// std_mean and var_mean: both results have the reduced shape.
RuleResult two_moments(const RuleArgs& a) {
  const Shape shape = with_sizes(a.tensor("self"), reduced_sizes(a));
  return {shape, shape};
}

/// One value of the operand's own dtype.
RuleResult pick_one(const RuleArgs& a) { return {with_sizes(a.tensor("self"), {})}; }

RuleResult min_and_max(const RuleArgs& a) {
  return {with_sizes(a.tensor("self"), {}), with_sizes(a.tensor("self"), {})};
}

at::ScalarType sum_type(const at::Tensor& self) {
  return at::isIntegralType(self.scalar_type(), true) ? at::kLong : self.scalar_type();
}

RuleResult prod(const RuleArgs& a) {
  const at::Tensor self = a.tensor("self");
  const auto dtype = a.at("dtype").toOptional<at::ScalarType>();
  return {Shape(dtype.value_or(sum_type(self)), Sizes{})};
}

RuleResult nansum(const RuleArgs& a) {
  const auto dtype = a.at("dtype").toOptional<at::ScalarType>();
  return {Shape(dtype.value_or(sum_type(a.tensor("self"))), reduced_sizes(a))};
}

RuleResult trace_of_matrix(const RuleArgs& a) {
  return {Shape(sum_type(a.tensor("self")), Sizes{})};
}

RuleResult count_nonzero(const RuleArgs& a) {
  return {Shape(at::kLong, reduced_sizes(a.tensor("self"), a.ints("dim"), false))};
}

/// mode, kthvalue, median over a dim: values and where they are.
RuleResult value_and_index(const RuleArgs& a) {
  const Sizes sizes = reduced_sizes(a);
  return {with_sizes(a.tensor("self"), sizes), Shape(at::kLong, sizes)};
}

/// cummax, cummin.
RuleResult running_extreme(const RuleArgs& a) {
  const at::Tensor self = a.tensor("self");
  return {shape_of(self), Shape(at::kLong, self.sizes())};
}

RuleResult logsumexp(const RuleArgs& a) {
  return {Shape(float_type(a.tensor("self")), reduced_sizes(a))};
}

RuleResult rot90(const RuleArgs& a) {
  const at::Tensor self = a.tensor("self");
  const Sizes dims = a.ints("dims");
  TORCH_CHECK(dims.size() == 2 && self.dim() >= 2, "aten::rot90: ", dims.size(),
              " dims for an input of rank ", self.dim());
  Sizes sizes = self.sizes().vec();
  if (a.integer("k") % 2 != 0) {
    std::swap(sizes.at(static_cast<size_t>(wrap_dim(dims[0], self.dim()))),
              sizes.at(static_cast<size_t>(wrap_dim(dims[1], self.dim()))));
  }
  return {with_sizes(self, sizes)};
}

// ---------------------------------------------------------------- indexing and sampling

RuleResult embedding(const RuleArgs& a) {
  const at::Tensor weight = a.tensor("weight");
  Sizes sizes = a.tensor("indices").sizes().vec();
  sizes.push_back(weight.size(1));
  return {with_sizes(weight, sizes)};
}

RuleResult index_select(const RuleArgs& a) {
  const at::Tensor self = a.tensor("self");
  Sizes sizes = self.sizes().vec();
  if (!sizes.empty()) {
    sizes.at(static_cast<size_t>(wrap_dim(a.integer("dim"), self.dim()))) =
        a.tensor("index").numel();
  }
  return {with_sizes(self, sizes)};
}

RuleResult take(const RuleArgs& a) {
  return {Shape(a.tensor("self").scalar_type(), a.tensor("index").sizes())};
}

/// bucketize and searchsorted: an index for each element of self.
RuleResult sorted_position(const RuleArgs& a) {
  const at::ScalarType type = a.boolean("out_int32") ? at::kInt : at::kLong;
  return {Shape(type, a.at("self").isTensor() ? a.tensor("self").sizes().vec() : Sizes{})};
}

RuleResult nonzero_static(const RuleArgs& a) {
  return {Shape(at::kLong, Sizes{a.integer("size"), a.tensor("self").dim()})};
}

/// tril_indices and triu_indices: two rows, one column for each index.
RuleResult triangle(const RuleArgs& a, bool lower) {
  const int64_t rows = a.integer("row"), columns = a.integer("col"), offset = a.integer("offset");
  int64_t count = 0;
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t below = std::clamp<int64_t>(r + offset + (lower ? 1 : 0), 0, columns);
    count += lower ? below : columns - below;
  }
  const auto dtype = a.at("dtype").toOptional<at::ScalarType>();
  return {Shape(dtype.value_or(at::kLong), Sizes{2, count})};
}

RuleResult tril_indices(const RuleArgs& a) { return triangle(a, true); }
RuleResult triu_indices(const RuleArgs& a) { return triangle(a, false); }

RuleResult reflection_pad2d(const RuleArgs& a) {
  const at::Tensor self = a.tensor("self");
  const Sizes pad = a.ints("padding");
  TORCH_CHECK(self.dim() >= 3 && pad.size() == 4, "aten::reflection_pad2d: input of rank ",
              self.dim(), ", ", pad.size(), " paddings");
  Sizes sizes = self.sizes().vec();
  for (size_t i = 0; i < 2; ++i) {
    int64_t& size = sizes[sizes.size() - 1 - i];
    TORCH_CHECK(std::max(pad[2 * i], pad[2 * i + 1]) < size, "aten::reflection_pad2d: padding ",
                pad, " reaches beyond input ", self.sizes());
    size += pad[2 * i] + pad[2 * i + 1];
  }
  return {with_sizes(self, sizes)};
}

RuleResult col2im(const RuleArgs& a) {
  const at::Tensor self = a.tensor("self");
  const Sizes out = a.ints("output_size"), kernel = a.ints("kernel_size");
  const int64_t channels = self.size(-2) / std::max<int64_t>(pick(kernel, 0) * pick(kernel, 1), 1);
  Sizes sizes = self.sizes().slice(0, static_cast<size_t>(self.dim() - 2)).vec();
  sizes.insert(sizes.end(), {channels, pick(out, 0), pick(out, 1)});
  return {with_sizes(self, sizes)};
}

RuleResult im2col(const RuleArgs& a) {
  const at::Tensor self = a.tensor("self");
  const Sizes kernel = a.ints("kernel_size"), dilation = a.ints("dilation");
  const Sizes pad = a.ints("padding"), stride = a.ints("stride");
  const int64_t rank = self.dim();
  TORCH_CHECK(rank == 3 || rank == 4, "aten::im2col: input of rank ", rank);
  int64_t columns = 1;
  for (size_t i = 0; i < 2; ++i) {
    columns *= conv_out(self.size(rank - 2 + static_cast<int64_t>(i)), pick(kernel, i),
                        pick(stride, i), pick(pad, i), pick(dilation, i));
  }
  Sizes sizes = self.sizes().slice(0, static_cast<size_t>(rank - 3)).vec();
  sizes.push_back(self.size(rank - 3) * pick(kernel, 0) * pick(kernel, 1));
  sizes.push_back(columns);
  return {with_sizes(self, sizes)};
}

/// A position with as many coordinates as the image has dims, for each of its pixels.
RuleResult affine_grid(const RuleArgs& a) {
  const at::Tensor theta = a.tensor("theta");
  std::vector<int64_t> sizes = a.ints("size");
  const auto dims = static_cast<int64_t>(sizes.size()) - 2;
  sizes.erase(sizes.begin() + 1);
  sizes.push_back(dims);
  return {Shape(theta.scalar_type(), sizes)};
}

RuleResult grid_sampler(const RuleArgs& a) {
  const at::Tensor input = a.tensor("input"), grid = a.tensor("grid");
  Sizes sizes = {input.size(0), input.size(1)};
  for (int64_t d = 1; d + 1 < grid.dim(); ++d) sizes.push_back(grid.size(d));
  return {with_sizes(input, sizes)};
}

/// The batch dims of both operands broadcast; the last two dims are those of B.
RuleResult solve_triangular(const RuleArgs& a) {
  const at::Tensor matrix = a.tensor("self"), b = a.tensor("B");
  TORCH_CHECK(matrix.dim() >= 2 && b.dim() >= 2 && matrix.size(-1) == matrix.size(-2) &&
                  matrix.size(-1) == b.size(a.boolean("left") ? -2 : -1),
              "aten::linalg_solve_triangular: operands ", matrix.sizes(), " and ", b.sizes());
  Sizes sizes = at::infer_size(matrix.sizes().slice(0, static_cast<size_t>(matrix.dim() - 2)),
                               b.sizes().slice(0, static_cast<size_t>(b.dim() - 2)));
  sizes.insert(sizes.end(), {b.size(-2), b.size(-1)});
  return {with_sizes(b, sizes)};
}

// ---------------------------------------------------------------- recurrent layers

/// Sizes of the sequence output of an RNN, from its input and the last layer's output features.
Sizes sequence_sizes(const at::Tensor& input, int64_t features) {
  Sizes sizes = input.sizes().vec();
  TORCH_CHECK(sizes.size() == 3, "recurrent layer: input of rank ", sizes.size(),
              " (packed sequences are not supported)");
  sizes.back() = features;
  return sizes;
}

/// gru: (input, hx, …) -> (output, hx).
RuleResult gru(const RuleArgs& a) {
  const at::Tensor input = a.tensor("input"), hx = a.tensor("hx");
  const int64_t directions = a.boolean("bidirectional") ? 2 : 1;
  return {with_sizes(input, sequence_sizes(input, hx.size(-1) * directions)), shape_of(hx)};
}

/// lstm: (input, [h, c], …) -> (output, h, c).
RuleResult lstm(const RuleArgs& a) {
  const at::Tensor input = a.tensor("input");
  const std::vector<at::Tensor> hx = a.at("hx").toTensorVector();
  TORCH_CHECK(hx.size() == 2, "aten::lstm: hx needs two tensors, not ", hx.size());
  const int64_t directions = a.boolean("bidirectional") ? 2 : 1;
  return {with_sizes(input, sequence_sizes(input, hx[0].size(-1) * directions)), shape_of(hx[0]),
          shape_of(hx[1])};
}

// ---------------------------------------------------------------- functions of our own table

ShapeRule rule_of(UnaryKind kind) {
  if (kind == UnaryKind::kTruth) return bool_as_self;
  return kind == UnaryKind::kFloats ? float_as_self : same_as_self;
}

ShapeRule rule_of(BinaryKind kind) {
  if (gives_bool(kind)) return truth_of_both;
  return kind == BinaryKind::kFloats ? float_of_both : binary;
}

/// ATen's names of our pointwise functions, without "aten::".
const std::unordered_map<std::string, ShapeRule>& function_rules() {
  static const std::unordered_map<std::string, ShapeRule> table = [] {
    std::unordered_map<std::string, ShapeRule> made;
    const auto add = [&made](std::initializer_list<const char*> names, ShapeRule rule) {
      for (const char* name : names) made.emplace(name, rule);
    };
#define LAZYRT_NAMES(...) \
  { __VA_ARGS__ }
#define LAZYRT_UNARY(number, Name, kind, names, ...) \
  add(LAZYRT_NAMES names, rule_of(UnaryKind::k##kind));
#include "kernels/unary/functions.inc"
#undef LAZYRT_UNARY
#define LAZYRT_BINARY(number, Name, kind, cost, names, ...) \
  add(LAZYRT_NAMES names, rule_of(BinaryKind::k##kind));
#include "kernels/binary/functions.inc"
#undef LAZYRT_BINARY
#undef LAZYRT_NAMES
    return made;
  }();
  return table;
}

const std::unordered_map<std::string, ShapeRule>& rules() {
  static const std::unordered_map<std::string, ShapeRule> table = {
      {"aten::_adaptive_avg_pool2d", adaptive_pool},
      {"aten::_adaptive_avg_pool3d", adaptive_pool},
      {"aten::_aminmax", min_and_max},
      {"aten::_cdist_forward", cdist},
      {"aten::_convolution", convolution},
      {"aten::_int_mm", int_mm},
      {"aten::_logcumsumexp", same_as_self},
      {"aten::_masked_softmax", same_as_self},
      {"aten::_native_batch_norm_legit.no_stats", batch_norm_of_batch},
      {"aten::_native_batch_norm_legit_functional", batch_norm_functional},
      {"aten::_native_batch_norm_legit_no_training", batch_norm_inference},
      {"aten::_prelu_kernel", same_as_self},
      {"aten::_safe_softmax", safe_softmax},
      {"aten::_transformer_encoder_layer_fwd", same_as_src},
      {"aten::_weight_norm_interface", weight_norm},
      {"aten::adaptive_avg_pool1d", adaptive_pool},
      {"aten::adaptive_avg_pool2d", adaptive_pool},
      {"aten::adaptive_avg_pool3d", adaptive_pool},
      {"aten::_grouped_mm", grouped_mm},
      {"aten::addbmm", addbmm},
      {"aten::affine_grid_generator", affine_grid},
      {"aten::angle", float_as_self},
      {"aten::avg_pool1d", avg_pool1d},
      {"aten::batch_norm", same_as_input},
      {"aten::bucketize.Scalar", sorted_position},
      {"aten::bucketize.Tensor", sorted_position},
      {"aten::channel_shuffle", same_as_self},
      {"aten::cholesky", same_as_self},
      {"aten::cholesky_inverse", same_as_self},
      {"aten::col2im", col2im},
      {"aten::convolution", convolution},
      {"aten::count_nonzero", count_nonzero},
      {"aten::count_nonzero.dim_IntList", count_nonzero},
      {"aten::cummax", running_extreme},
      {"aten::cummin", running_extreme},
      {"aten::dist", pick_one},
      {"aten::dot", pick_one},
      {"aten::embedding", embedding},
      {"aten::flip", same_as_self},
      {"aten::grid_sampler_2d", grid_sampler},
      {"aten::grid_sampler_3d", grid_sampler},
      {"aten::gru.input", gru},
      {"aten::hardtanh", same_as_self},
      {"aten::im2col", im2col},
      {"aten::index_fill.int_Scalar", same_as_self},
      {"aten::index_fill.int_Tensor", same_as_self},
      {"aten::index_put", same_as_self},
      {"aten::index_select", index_select},
      {"aten::instance_norm", same_as_input},
      {"aten::kthvalue", value_and_index},
      {"aten::linalg_solve_triangular", solve_triangular},
      {"aten::linear", linear},
      {"aten::logcumsumexp", same_as_self},
      {"aten::logit", float_as_self},
      {"aten::logsumexp", logsumexp},
      {"aten::lstm.input", lstm},
      {"aten::masked_scatter", same_as_self},
      {"aten::matmul", matmul},
      {"aten::max", pick_one},
      {"aten::max_pool1d", max_pool1d},
      {"aten::max_pool2d", max_pool2d},
      {"aten::max_pool3d", max_pool3d},
      {"aten::median", pick_one},
      {"aten::median.dim", value_and_index},
      {"aten::min", pick_one},
      {"aten::mode", value_and_index},
      {"aten::nan_to_num", same_as_self},
      {"aten::nanmedian", pick_one},
      {"aten::nanmedian.dim", value_and_index},
      {"aten::nansum", nansum},
      {"aten::native_batch_norm", native_batch_norm},
      {"aten::native_dropout", native_dropout},
      {"aten::native_group_norm", native_group_norm},
      {"aten::native_layer_norm", native_layer_norm},
      {"aten::nonzero_static", nonzero_static},
      {"aten::prelu", same_as_self},
      {"aten::prod", prod},
      {"aten::put", same_as_self},
      {"aten::reflection_pad2d", reflection_pad2d},
      {"aten::relu", same_as_self},
      {"aten::remainder.Scalar_Tensor", binary},
      {"aten::rms_norm", same_as_input},
      {"aten::roll", same_as_self},
      {"aten::rot90", rot90},
      {"aten::rsub.Tensor", binary},
      {"aten::scaled_dot_product_attention", attention},
      {"aten::searchsorted.Scalar", sorted_position},
      {"aten::searchsorted.Tensor", sorted_position},
      {"aten::std.correction", moment},
      {"aten::std_mean.correction", two_moments},
      {"aten::take", take},
      {"aten::trace", trace_of_matrix},
      {"aten::tril_indices", tril_indices},
      {"aten::triu_indices", triu_indices},
      {"aten::var.correction", moment},
      {"aten::var_mean.correction", two_moments},
      {"aten::vdot", pick_one},
      {"aten::where.self", where},
  };
  return table;
}

}  // namespace

const c10::IValue& RuleArgs::at(const char* name) const {
  const auto& schema_args = op_.schema().arguments();
  for (size_t i = 0; i < schema_args.size(); ++i) {
    if (schema_args[i].name() == name) return args_[i];
  }
  TORCH_CHECK(false, c10::toString(op_.operator_name()), " has no argument '", name, "'");
}

std::vector<c10::IValue> RuleArgs::map(
    const std::function<at::Tensor(const at::Tensor&)>& f) const {
  std::vector<c10::IValue> args = args_;
  for (c10::IValue& arg : args) map_tensors(arg, f);
  return args;
}

at::Tensor RuleArgs::optional_tensor(const char* name) const {
  const c10::IValue& v = at(name);
  return v.isTensor() ? v.toTensor() : at::Tensor();
}

std::vector<int64_t> RuleArgs::ints(const char* name) const {
  const c10::IValue& v = at(name);
  if (v.isNone()) return {};
  if (v.isInt()) return {v.toInt()};
  return v.toIntVector();
}

ShapeRule find_shape_rule(const std::string& op) {
  const auto it = rules().find(op);
  return it == rules().end() ? nullptr : it->second;
}

ShapeRule find_shape_rule(const c10::OperatorHandle& op) {
  if (const ShapeRule rule = find_shape_rule(c10::toString(op.operator_name()))) return rule;
  const std::optional<std::string> name = aten_name(op);
  if (!name || op.hasKernelForDispatchKey(c10::DispatchKey::Meta)) return nullptr;
  const auto it = function_rules().find(*name);
  return it == function_rules().end() ? nullptr : it->second;
}

}  // namespace lazyrt
