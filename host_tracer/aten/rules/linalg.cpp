// Linear systems: triangular solves, and results computed from LU and Cholesky factors.

#include <algorithm>

#include "aten/rule_lists.h"

namespace lazyrt {
namespace {

using fb::BinaryFn;
using fb::ReduceFn;
using fb::UnaryFn;

ValueId mirrored(RuleContext& c, ValueId x) { return c.transpose(x, c.rank(x) - 2, c.rank(x) - 1); }

/// Gives `x` the batch dims of `like`, broadcast where they are 1 or absent.
ValueId with_batch(RuleContext& c, ValueId x, const Shape& like) {
  Shape to = like;
  for (int i = 0; i < 2; ++i) to[to.rank() - 1 - i] = c.shape(x).back(i);
  return c.expand(x, to);
}

ValueId triangular(RuleContext& c, ValueId a, ValueId b, bool upper, bool unit) {
  fb::TriangularSolveT op;
  op.upper = upper, op.unit = unit;
  return c.add(op, {a, b});
}

/// self x = b, or x self = b: then both are mirrored.
void solve_triangular(RuleContext& c) {
  ValueId a = c.tensor("self"), b = c.tensor("B");
  const bool left = c.boolean("left"), upper = c.boolean("upper");
  const Shape out = c.out_shape();
  a = with_batch(c, a, out);
  b = with_batch(c, b, out);
  if (!left) a = mirrored(c, a), b = mirrored(c, b);
  const ValueId x = triangular(c, a, b, upper == left, c.boolean("unitriangular"));
  c.set(left ? x : mirrored(c, x));
}

/// The old name: (solution, a copy of A).
void old_solve_triangular(RuleContext& c) {
  ValueId b = c.tensor("self"), a = c.tensor("A");
  const bool upper = c.boolean("upper"), transposed = c.boolean("transpose");
  a = with_batch(c, a, c.out_shape());
  b = with_batch(c, b, c.out_shape());
  const ValueId given = a;
  if (transposed) a = mirrored(c, a);
  c.set(0, triangular(c, a, b, upper != transposed, c.boolean("unitriangular")));
  c.set(1, given);
}

struct Factors {
  ValueId lu, permutation, sign;
};

Factors factorize(RuleContext& c, ValueId a) {
  const std::vector<ValueId> out = c.add_multi(fb::LuT{}, {a});
  return out.empty() ? Factors{kNoValue, kNoValue, kNoValue} : Factors{out[0], out[1], out[2]};
}

/// The diagonal of [...,N,N].
ValueId diagonal(RuleContext& c, ValueId x) {
  const Shape shape = c.shape(x);
  const int64_t n = shape.back(0);
  Shape rows;
  for (int i = 0; i + 2 < shape.rank(); ++i) rows.append(shape[i]);
  Shape flat = rows;
  flat.append(n * n);
  rows.append(n);
  const ValueId line = c.reshape(x, flat);
  return c.reshape(c.slice(line, c.rank(line) - 1, 0, n, n + 1), rows);
}

/// Rows of b [...,N,K] in the factors' order.
ValueId permuted(RuleContext& c, ValueId b, ValueId permutation) {
  fb::GatherT op;
  op.axis = c.rank(b) - 2;
  return c.add(op, {b, c.expand(c.unsqueeze(permutation, c.rank(permutation)), c.shape(b))});
}

ValueId solve_by(RuleContext& c, const Factors& f, ValueId b) {
  const ValueId y = triangular(c, f.lu, permuted(c, b, f.permutation), false, true);
  return triangular(c, f.lu, y, true, false);
}

/// LAPACK's info: 0, or the 1-based position of the first zero on the diagonal of u.
ValueId info_of(RuleContext& c, const Factors& f) {
  const ValueId d = diagonal(c, f.lu);
  const int last = c.rank(d) - 1;
  const int64_t n = c.dim(d, last);
  if (n == 0) return c.filled(DType::kInt32, c.out_shape(1), Scalar(0));
  std::vector<int64_t> places;
  for (int64_t i = 1; i <= n; ++i) places.push_back(i);
  const ValueId zero = c.binary_number(BinaryFn::Eq, d, Scalar(0.0));
  const ValueId none = c.scalar(DType::kInt64, Scalar(n + 1));
  const ValueId place = c.where(zero, c.constant_ints(Shape{n}, places), none);
  const ValueId first = c.reduce(ReduceFn::Min, place, {last}, false);
  const ValueId found = c.binary_number(BinaryFn::Le, first, Scalar(n));
  return c.cast(c.where(found, first, c.scalar(DType::kInt64, Scalar(0))), DType::kInt32);
}

ValueId identity_like(RuleContext& c, ValueId a) {
  const Shape shape = c.shape(a);
  const int64_t n = shape.back(0);
  std::vector<Scalar> values(static_cast<size_t>(n * n), Scalar(0.0));
  for (int64_t i = 0; i < n; ++i) values[static_cast<size_t>(i * n + i)] = Scalar(1.0);
  return c.expand(c.constant(c.dtype(a), Shape{n, n}, values), shape);
}

/// With check_errors the operator itself raises, and a trace cannot record that as a check.
bool looks_itself(RuleContext& c) {
  if (!c.boolean_or("check_errors", false)) return false;
  c.refuse(
      "with check_errors=True is not supported: call the function without _ex, which checks too");
  return true;
}

void inverse(RuleContext& c) {
  if (looks_itself(c)) return;
  const ValueId a = c.tensor("A");
  const Factors f = factorize(c, a);
  c.set(0, solve_by(c, f, identity_like(c, a)));
  if (c.used(1)) c.set(1, info_of(c, f));
}

/// torch's rule for vectors: [N], or the matrices' shape without their last dim.
bool is_vector(RuleContext& c, ValueId a, ValueId b) {
  const Shape matrix = c.shape(a), side = c.shape(b);
  if (side.rank() == 1) return true;
  if (side.rank() + 1 != matrix.rank()) return false;
  return std::equal(side.begin(), side.end(), matrix.begin());
}

/// (result, LU, pivots, info). A right-hand side of one rank less is a vector.
void solve(RuleContext& c) {
  if (looks_itself(c)) return;
  ValueId a = c.tensor("A"), b = c.tensor("B");
  const bool left = c.boolean_or("left", true);
  const bool vector = is_vector(c, a, b);
  if (vector) b = c.unsqueeze(b, c.rank(b));
  Shape out = c.out_shape(0);
  if (vector) out.append(1);
  const Factors f = factorize(c, left ? a : mirrored(c, a));
  const ValueId batched = with_batch(c, f.lu, out);
  if (!left) b = mirrored(c, b), std::swap(out[out.rank() - 1], out[out.rank() - 2]);
  b = with_batch(c, b, out);
  Shape rows;
  for (int i = 0; i + 1 < out.rank(); ++i) rows.append(out[i]);
  const ValueId x = solve_by(c, {batched, c.expand(f.permutation, rows), f.sign}, b);
  const ValueId result = left ? x : mirrored(c, x);
  c.set(0, vector ? c.reshape(result, c.out_shape(0)) : result);
  if (c.used(3)) c.set(3, c.reshape(info_of(c, f), c.out_shape(3)));
}

/// (result, LU, pivots)
void determinant(RuleContext& c) {
  const Factors f = factorize(c, c.tensor("A"));
  const ValueId d = diagonal(c, f.lu);
  const ValueId product = c.reduce(ReduceFn::Prod, d, {c.rank(d) - 1}, false);
  c.set(0, c.binary(BinaryFn::Mul, product, f.sign));
}

/// (sign, logabsdet, LU, pivots)
void log_determinant(RuleContext& c) {
  const Factors f = factorize(c, c.tensor("A"));
  const ValueId d = diagonal(c, f.lu);
  const int last = c.rank(d) - 1;
  const ValueId signs = c.reduce(ReduceFn::Prod, c.unary(UnaryFn::Sign, d), {last}, false);
  c.set(0, c.binary(BinaryFn::Mul, signs, f.sign));
  const ValueId logs = c.unary(UnaryFn::Log, c.unary(UnaryFn::Abs, d));
  c.set(1, c.reduce(ReduceFn::Sum, logs, {last}, false));
}

void cholesky(RuleContext& c) {
  if (looks_itself(c)) return;
  const bool upper = c.boolean("upper");
  const ValueId a = c.tensor("self");
  const std::vector<ValueId> out = c.add_multi(fb::CholeskyT{}, {upper ? mirrored(c, a) : a});
  if (out.empty()) return;
  c.set(0, upper ? mirrored(c, out[0]) : out[0]);
  if (c.out_count() > 1) c.set(1, out[1]);
}

/// Solves (l l^T) x = b for a lower l, or (l^T l) x = b for an upper one.
ValueId solve_by_root(RuleContext& c, ValueId l, ValueId b, bool upper) {
  if (upper) l = mirrored(c, l);
  return triangular(c, mirrored(c, l), triangular(c, l, b, false, false), true, false);
}

void cholesky_solve(RuleContext& c) {
  const ValueId b = with_batch(c, c.tensor("self"), c.out_shape());
  const ValueId l = with_batch(c, c.tensor("input2"), c.out_shape());
  c.set(solve_by_root(c, l, b, c.boolean("upper")));
}

void cholesky_inverse(RuleContext& c) {
  const ValueId l = c.tensor("self");
  c.set(solve_by_root(c, l, identity_like(c, l), c.boolean_or("upper", false)));
}

ValueId triangle(RuleContext& c, ValueId x, bool upper, int64_t diagonal) {
  fb::TriangleT op;
  op.upper = upper, op.diagonal = diagonal;
  return c.add(op, {x});
}

/// (P, L, U) of a square matrix: row permutation[i] of P is row i of the identity.
void lu_parts(RuleContext& c) {
  const ValueId a = c.tensor("A");
  if (!c.boolean_or("pivot", true)) {
    c.refuse("without pivots is not supported");
    return;
  }
  if (c.dim(a, -1) != c.dim(a, -2)) {
    c.refuse("of a matrix that is not square is not supported");
    return;
  }
  const Factors f = factorize(c, a);
  const ValueId rows = c.sequence(Shape{c.dim(a, -1), 1});
  const ValueId columns = c.unsqueeze(f.permutation, c.rank(f.permutation) - 1);
  const ValueId places = c.expand(rows, c.shape(a)), chosen = c.expand(columns, c.shape(a));
  c.set(0, c.cast(c.binary(BinaryFn::Eq, places, chosen), c.dtype(a)));
  c.set(1, c.binary(BinaryFn::Add, triangle(c, f.lu, false, -1), identity_like(c, a)));
  c.set(2, triangle(c, f.lu, true, 0));
}

constexpr const char* kPivots =
    "is not supported: the runtime's LU returns no LAPACK pivots; use "
    "torch.linalg.solve, inv, det or slogdet";

constexpr RuleEntry kLinalgEntries[] = {
    {"linalg_solve_triangular", solve_triangular},
    {"triangular_solve", old_solve_triangular},
    {"linalg_inv_ex", inverse},
    {"_linalg_solve_ex", solve},
    {"_linalg_det", determinant},
    {"_linalg_slogdet", log_determinant},
    {"linalg_cholesky_ex", cholesky},
    {"cholesky_solve", cholesky_solve},
    {"cholesky_inverse", cholesky_inverse},
    {"linalg_lu", lu_parts},
    {"linalg_lu_factor_ex", nullptr, kPivots},
};

}  // namespace

const RuleList linalg_rules{kLinalgEntries};

}  // namespace lazyrt
