// Products of matrices and vectors. A static right-hand side makes a Linear, whose weights are
// packed.

#include <algorithm>

#include "aten/rule_lists.h"

namespace lazyrt {
namespace {

using fb::BinaryFn;

/// a [..., M, K] x b [..., K, N].
ValueId product(RuleContext& c, ValueId a, ValueId b) {
  const bool weights =
      c.is_static(b) && !c.is_static(a) && c.rank(b) == 2 && is_floating(c.dtype(b));
  if (!weights) return c.matmul(a, b);
  return c.add(fb::LinearT(), {a, c.transpose(b, 0, 1), kNoValue});
}

ValueId with_factor(RuleContext& c, ValueId x, const char* name) {
  const Scalar factor = c.number_or(name, 1);
  return factor.as_double() == 1.0 ? x : c.binary_number(BinaryFn::Mul, x, factor);
}

/// beta * self + alpha * product; self is not read if beta is 0.
void set_weighted(RuleContext& c, ValueId product) {
  product = with_factor(c, product, "alpha");
  if (c.number_or("beta", 1).as_double() == 0.0) return c.set(product);
  const ValueId self = with_factor(c, c.tensor("self"), "beta");
  c.set(c.binary(BinaryFn::Add, self, product));
}

/// Whether ATen computes products of this type by BLAS.
bool is_of_blas(DType t) { return t == DType::kFloat32 || t == DType::kFloat64; }

/// As set_weighted, for a product by BLAS, which is not read if alpha is 0.
void set_sum(RuleContext& c, ValueId product) {
  const bool none = c.number_or("alpha", 1).as_double() == 0.0 && is_of_blas(c.trace_dtype());
  set_weighted(c, none ? c.filled(c.out_dtype(), c.out_shape(), 0) : product);
}

ValueId cast_tensor(RuleContext& c, const char* name) {
  return c.cast(c.tensor(name), c.out_dtype());
}

void linear(RuleContext& c) {
  const ValueId x = c.tensor("input");
  const ValueId weight = c.tensor("weight");
  const ValueId bias = c.optional_tensor("bias");
  if (c.rank(weight) == 2) return c.set(c.add(fb::LinearT(), {x, weight, bias}));
  // A vector of weights: [..., K] x [K] -> [...].
  ValueId y = c.add(fb::LinearT(), {x, c.unsqueeze(weight, 0), kNoValue});
  y = c.reshape(y, c.out_shape());
  c.set(bias == kNoValue ? y : c.binary(BinaryFn::Add, y, bias));
}

void addmm(RuleContext& c) {
  const ValueId a = cast_tensor(c, "mat1");
  const ValueId b = cast_tensor(c, "mat2");
  const ValueId bias = c.tensor("self");
  const bool plain =
      c.number_or("beta", 1).as_double() == 1.0 && c.number_or("alpha", 1).as_double() == 1.0;
  const bool fits = c.rank(bias) == 1 && c.rank(b) == 2 && c.numel(bias) == c.dim(b, 1);
  if (plain && fits && c.is_static(b) && c.is_static(bias) && is_floating(c.dtype(b))) {
    return c.set(c.add(fb::LinearT(), {a, c.transpose(b, 0, 1), bias}));
  }
  set_sum(c, product(c, a, b));
}

void mm(RuleContext& c) { c.set(product(c, cast_tensor(c, "self"), cast_tensor(c, "mat2"))); }

/// ATen computes the products of a batch of small matrices itself, without BLAS.
void baddbmm(RuleContext& c) {
  constexpr int64_t kSmall = 400;
  const ValueId a = cast_tensor(c, "batch1");
  const ValueId products = c.matmul(a, cast_tensor(c, "batch2"));
  const int64_t work = c.dim(a, -1) * c.dim(products, -1) * c.dim(products, -2);
  if (work < kSmall) return set_weighted(c, products);
  set_sum(c, products);
}

/// The products summed over the batch.
void addbmm(RuleContext& c) {
  const ValueId products = c.matmul(cast_tensor(c, "batch1"), cast_tensor(c, "batch2"));
  set_sum(c, c.reduce(fb::ReduceFn::Sum, products, {0}, false));
}

/// Rows of self up to offs[0] times mat2[0], those up to offs[1] times mat2[1], ... (mixtures of
/// experts). Where a group ends is known only at run time, so all rows are multiplied by each
/// group's matrix, and each row takes the product of its group.
void grouped_mm(RuleContext& c) {
  const ValueId x = c.tensor("self");
  const ValueId weights = c.tensor("mat2");
  if (c.rank(x) != 2 || c.rank(weights) != 3 || !c.has("offs") || c.has("bias")) {
    c.refuse("is supported only for groups of rows ([T,K] and [E,K,N], with offs, without bias)");
    return;
  }
  const ValueId ends = c.tensor("offs");
  const ValueId rows = c.cast(c.sequence({c.dim(x, 0), 1}), c.dtype(ends));
  ValueId y = c.filled(c.out_dtype(), c.out_shape(), 0);
  for (int64_t group = c.dim(weights, 0); group-- > 0;) {
    const ValueId matrix =
        c.reshape(c.slice(weights, 0, group, 1), {c.dim(weights, 1), c.dim(weights, 2)});
    const ValueId before_end = c.binary(BinaryFn::Lt, rows, c.slice(ends, 0, group, 1));
    y = c.where(before_end, c.cast(product(c, x, matrix), c.out_dtype()), y);
  }
  c.set(y);
}

/// NumPy's matmul: vectors get a dim of 1 that the result loses again.
ValueId matmul_any(RuleContext& c, ValueId a, ValueId b) {
  const int rank_a = c.rank(a);
  const int rank_b = c.rank(b);
  if (rank_a == 0 || rank_b == 0) return c.fail(Error::kInvalidArgument, "an operand has no dims");
  if (rank_a == 1) a = c.unsqueeze(a, 0);
  if (rank_b == 1) b = c.unsqueeze(b, 1);
  const ValueId y = product(c, a, b);
  const Shape s = c.shape(y);
  std::vector<int64_t> dims(s.begin(), s.end());
  if (rank_b == 1 && !dims.empty()) dims.pop_back();
  if (rank_a == 1 && !dims.empty()) dims.erase(dims.end() - (rank_b == 1 ? 1 : 2));
  return c.reshape(y, c.make_shape(dims));
}

template <const char* const& kOther>
void matmul(RuleContext& c) {
  c.set(matmul_any(c, cast_tensor(c, "self"), cast_tensor(c, kOther)));
}

constexpr const char* kOther = "other";
constexpr const char* kTensor = "tensor";
constexpr const char* kVec = "vec";
constexpr const char* kMat2 = "mat2";

void addmv(RuleContext& c) {
  set_sum(c, matmul_any(c, cast_tensor(c, "mat"), cast_tensor(c, "vec")));
}

/// [M] x [N] -> [M,N].
ValueId outer_product(RuleContext& c, const char* a, const char* b) {
  return c.binary(BinaryFn::Mul, c.unsqueeze(cast_tensor(c, a), 1), cast_tensor(c, b));
}

void outer(RuleContext& c) { c.set(outer_product(c, "self", "vec2")); }
void addr(RuleContext& c) { set_weighted(c, outer_product(c, "vec1", "vec2")); }

/// y[..., o] = sum over i, j of a[..., i] weight[o, i, j] b[..., j].
void bilinear(RuleContext& c) {
  const ValueId a = c.tensor("input1");
  const ValueId b = c.tensor("input2");
  const ValueId weight = c.tensor("weight");
  const int64_t outs = c.dim(weight, 0);
  const int64_t rows = c.dim(weight, 1);
  const ValueId flat = c.reshape(weight, {outs * rows, c.dim(weight, 2)});
  const ValueId wide = c.add(fb::LinearT(), {b, flat, kNoValue});
  const Shape s = c.out_shape();
  std::vector<int64_t> dims(s.begin(), s.end());
  dims.push_back(rows);
  const ValueId split = c.reshape(wide, c.make_shape(dims));
  const ValueId scaled = c.binary(BinaryFn::Mul, split, c.unsqueeze(a, c.rank(a) - 1));
  const ValueId y = c.reduce(fb::ReduceFn::Sum, scaled, {c.rank(scaled) - 1}, false);
  const ValueId bias = c.optional_tensor("bias");
  c.set(bias == kNoValue ? y : c.binary(BinaryFn::Add, y, bias));
}

/// Inserts dims of extent 1 into the operand, at the given positions of the result.
ValueId with_unit_dims(RuleContext& c, const char* name, const char* places) {
  ValueId x = c.tensor(name);
  std::vector<int64_t> at = c.ints(places);
  std::sort(at.begin(), at.end());
  for (int64_t i : at) x = c.unsqueeze(x, static_cast<int>(i));
  return x;
}

void trilinear(RuleContext& c) {
  const ValueId a = with_unit_dims(c, "i1", "expand1");
  const ValueId b = with_unit_dims(c, "i2", "expand2");
  const ValueId d = with_unit_dims(c, "i3", "expand3");
  const ValueId all = c.binary(BinaryFn::Mul, c.binary(BinaryFn::Mul, a, b), d);
  c.set(c.reduce(fb::ReduceFn::Sum, all, c.axes_arg("sumdim", all), false));
}

constexpr RuleEntry kLinearEntries[] = {
    {"linear", linear},
    {"addmm", addmm},
    {"mm", mm},
    {"bmm", matmul<kMat2>},
    {"matmul", matmul<kOther>},
    {"linalg_matmul", matmul<kOther>},
    {"mv", matmul<kVec>},
    {"dot", matmul<kTensor>},
    {"vdot", matmul<kOther>},
    {"_grouped_mm", grouped_mm},
    {"baddbmm", baddbmm},
    {"addbmm", addbmm},
    {"addmv", addmv},
    {"outer", outer},
    {"ger", outer},
    {"addr", addr},
    {"bilinear", bilinear},
    {"_trilinear", trilinear},
};

}  // namespace

const RuleList linear_rules{kLinearEntries};

}  // namespace lazyrt
