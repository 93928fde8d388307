// Look-ups and writes by index tensors.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "aten/rule_lists.h"

namespace lazyrt {
namespace {

using fb::BinaryFn;
using fb::ScatterFn;

constexpr const char* kDataDependent = "is not supported: its result's size depends on data";

/// Index kernels take i32 and i64.
ValueId index_tensor(RuleContext& c, const char* name) {
  const ValueId ids = c.tensor(name);
  return c.dtype(ids) == DType::kInt32 ? ids : c.cast(ids, DType::kInt64);
}

void embedding(RuleContext& c) {
  c.set(c.index_select(c.tensor("weight"), 0, index_tensor(c, "indices"), /*from_end=*/false));
}

void index_select(RuleContext& c) {
  ValueId x = c.tensor("self");
  if (c.rank(x) == 0) x = c.reshape(x, {1});
  const int axis = c.axis_arg("dim", x);
  ValueId ids = index_tensor(c, "index");
  if (c.rank(ids) == 0) ids = c.reshape(ids, {1});
  c.set(c.reshape(c.index_select(x, axis, ids, /*from_end=*/false), c.out_shape()));
}

void take(RuleContext& c) {
  const ValueId x = c.tensor("self");
  c.set(c.index_select(c.reshape(x, {c.numel(x)}), 0, index_tensor(c, "index")));
}

void gather(RuleContext& c) {
  ValueId x = c.tensor("self");
  ValueId index = index_tensor(c, "index");
  if (c.rank(x) == 0) x = c.reshape(x, {1});
  if (c.rank(index) == 0) index = c.reshape(index, {1});
  fb::GatherT op;
  op.axis = c.axis_arg("dim", x);
  c.set(c.reshape(c.add(op, {x, index}), c.out_shape()));
}

// --- x[i, :, j] -------------------------------------------------------------------------------

/// Index tensors, by the dim that they index, in ascending order.
struct Indices {
  std::vector<int> dims;
  std::vector<ValueId> ids;  ///< i64; made non-negative where that is known cheaply

  bool adjacent() const { return dims.empty() || dims.back() - dims[0] + 1 == std::ssize(dims); }
};

/// A known mask becomes one index tensor per dim; fails (false) if the mask is computed.
bool append_mask(RuleContext& c, ValueId mask, int first_dim, Indices& indices) {
  const auto values = c.known_values(mask);
  if (!values) return false;
  const Shape s = c.shape(mask);
  std::vector<std::vector<int64_t>> positions(s.size());
  for (size_t i = 0; i < values->size(); ++i) {
    if (!(*values)[i].as_bool()) continue;
    auto rest = static_cast<int64_t>(i);
    for (int d = s.rank() - 1; d >= 0; --d) {
      positions[static_cast<size_t>(d)].push_back(rest % s[d]);
      rest /= s[d];
    }
  }
  for (int d = 0; d < s.rank(); ++d) {
    const std::vector<int64_t>& p = positions[static_cast<size_t>(d)];
    indices.dims.push_back(first_dim + d);
    indices.ids.push_back(c.constant_ints({static_cast<int64_t>(p.size())}, p));
  }
  return true;
}

Indices read_indices(RuleContext& c) {
  Indices indices;
  int dim = 0;
  for (ValueId id : c.tensors("indices")) {
    const bool mask = c.dtype(id) == DType::kBool || c.dtype(id) == DType::kUInt8;
    if (id == kNoValue) {
      ++dim;
    } else if (!mask) {
      indices.dims.push_back(dim++);
      indices.ids.push_back(id);
    } else if (append_mask(c, id, dim, indices)) {
      dim += c.rank(id);
    } else {
      c.refuse("with a computed boolean mask is not supported: its result's size depends on data");
      return indices;
    }
  }
  return indices;
}

/// Negative indices count from the end of a dim.
ValueId wrapped(RuleContext& c, ValueId ids, int64_t size) {
  ids = c.cast(ids, DType::kInt64);
  if (const auto values = c.constant_values(ids)) {
    const bool plain = std::none_of(values->begin(), values->end(),
                                    [](const Scalar& v) { return v.as_int() < 0; });
    if (plain) return ids;
  }
  return c.where(c.binary_number(BinaryFn::Lt, ids, 0), c.binary_number(BinaryFn::Add, ids, size),
                 ids);
}

/// True where an index lies outside of its dim; kNoValue if none can.
ValueId outside(RuleContext& c, ValueId ids, int64_t size) {
  if (const auto values = c.constant_values(ids)) {
    const bool inside = std::all_of(values->begin(), values->end(), [size](const Scalar& v) {
      return v.as_int() >= 0 && v.as_int() < size;
    });
    if (inside) return kNoValue;
  }
  return c.binary(BinaryFn::LogicalOr, c.binary_number(BinaryFn::Lt, ids, 0),
                  c.binary_number(BinaryFn::Ge, ids, size));
}

/// One index tensor into the indexed dims merged, in the indices' common shape. An index outside of
/// its dim becomes one outside of the merged dim, which the kernels refuse.
ValueId linear_ids(RuleContext& c, ValueId x, const Indices& indices) {
  if (indices.dims.size() == 1) return wrapped(c, indices.ids[0], c.dim(x, indices.dims[0]));
  ValueId linear = kNoValue, wrong = kNoValue;
  int64_t rows = 1;
  for (size_t i = 0; i < indices.dims.size(); ++i) {
    const int64_t size = c.dim(x, indices.dims[i]);
    const ValueId ids = wrapped(c, indices.ids[i], size);
    const ValueId off = outside(c, ids, size);
    if (off != kNoValue)
      wrong = wrong == kNoValue ? off : c.binary(BinaryFn::LogicalOr, wrong, off);
    linear =
        i == 0 ? ids : c.binary(BinaryFn::Add, c.binary_number(BinaryFn::Mul, linear, size), ids);
    rows *= size;
  }
  return wrong == kNoValue ? linear : c.where(wrong, c.scalar(DType::kInt64, rows), linear);
}

/// The permutation that puts indexed dims first and the others behind, in order.
std::vector<int> indexed_first(int rank, const std::vector<int>& dims) {
  std::vector<int> perm = dims;
  for (int i = 0; i < rank; ++i) {
    if (std::find(dims.begin(), dims.end(), i) == dims.end()) perm.push_back(i);
  }
  return perm;
}

/// dims [first, first + count) as one.
ValueId merge_dims(RuleContext& c, ValueId x, int first, int count) {
  const Shape s = c.shape(x);
  Shape merged;
  int64_t size = 1;
  for (int i = 0; i < s.rank(); ++i) {
    if (i < first || i >= first + count) {
      merged.append(s[i]);
      continue;
    }
    size *= s[i];
    if (i == first + count - 1) merged.append(size);
  }
  return c.reshape(x, merged);
}

void index_any(RuleContext& c) {
  ValueId x = c.tensor("self");
  const Indices indices = read_indices(c);
  if (!c.ok()) return;
  if (indices.dims.empty()) return c.set(x);
  const int count = static_cast<int>(indices.dims.size());
  if (count == 1) return c.set(c.index_select(x, indices.dims[0], indices.ids[0]));
  const ValueId ids = linear_ids(c, x, indices);
  int first = indices.dims[0];
  if (!indices.adjacent()) {
    x = c.permute(x, indexed_first(c.rank(x), indices.dims));
    first = 0;
  }
  c.set(c.index_select(merge_dims(c, x, first, count), first, ids));
}

/// x[mask] = values, if the values do not depend on which elements the mask selects: becomes a
/// where, for any mask.
bool masked_assignment(RuleContext& c, ValueId x, ValueId values) {
  const std::vector<ValueId> list = c.tensors("indices");
  if (list.size() != 1 || c.dtype(list[0]) != DType::kBool) return false;
  const int rest = c.rank(x) - c.rank(list[0]);
  const bool row_of_one = c.rank(values) == rest + 1 && c.dim(values, 0) == 1;
  if (c.rank(values) > rest && !row_of_one) return false;
  Shape row = c.shape(values);
  if (row_of_one) row = Shape(Span<const int64_t>(row.data() + 1, row.size() - 1));
  ValueId written = c.reshape(values, row);
  if (c.boolean_or("accumulate", false)) written = c.binary(BinaryFn::Add, x, written);
  ValueId mask = list[0];
  while (c.ok() && c.rank(mask) < c.rank(x)) mask = c.unsqueeze(mask, c.rank(mask));
  c.set(c.where(mask, written, x));
  return true;
}

/// Values in the shape of x[indices], with the indices' dims brought to the front: [n, rest].
ValueId values_by_index(RuleContext& c, ValueId values, const Shape& ids, const Shape& rest,
                        int front) {
  Shape result;
  for (int i = 0; i < front; ++i) result.append(rest[i]);
  for (int64_t d : ids) result.append(d);
  for (int i = front; i < rest.rank(); ++i) result.append(rest[i]);
  values = c.expand(values, result);
  std::vector<int> dims(ids.size());
  std::iota(dims.begin(), dims.end(), front);
  return c.reshape(c.permute(values, indexed_first(result.rank(), dims)),
                   {ids.numel(), rest.numel()});
}

std::vector<int> inverse(const std::vector<int>& perm) {
  std::vector<int> result(perm.size());
  for (size_t i = 0; i < perm.size(); ++i)
    result[static_cast<size_t>(perm[i])] = static_cast<int>(i);
  return result;
}

ValueId scatter(RuleContext& c, ScatterFn fn, ValueId x, int axis, ValueId index, ValueId src) {
  fb::ScatterT op;
  op.fn = fn;
  op.axis = axis;
  return c.add(op, {x, index, src});
}

/// x[indices] = values, or += with accumulate: rows of [indexed, rest] are scattered.
void index_put(RuleContext& c) {
  const ValueId x = c.tensor("self");
  const ValueId values = c.cast(c.tensor("values"), c.dtype(x));
  if (masked_assignment(c, x, values)) return;
  const Indices indices = read_indices(c);
  if (!c.ok()) return;
  if (indices.dims.empty()) return c.set(c.expand(values, c.shape(x)));
  const ValueId ids = linear_ids(c, x, indices);
  const std::vector<int> perm = indexed_first(c.rank(x), indices.dims);
  const ValueId front = c.permute(x, perm);
  const Shape moved = c.shape(front);
  const int count = static_cast<int>(indices.dims.size());
  Shape rest;
  for (int i = count; i < moved.rank(); ++i) rest.append(moved[i]);
  const ValueId src =
      values_by_index(c, values, c.shape(ids), rest, indices.adjacent() ? indices.dims[0] : 0);
  const int64_t rows = moved.numel() / std::max<int64_t>(rest.numel(), 1);
  const ValueId table = c.reshape(front, {rows, rest.numel()});
  const ValueId index = c.expand(c.reshape(ids, {c.numel(ids), 1}), c.shape(src));
  const ScatterFn fn = c.boolean_or("accumulate", false) ? ScatterFn::Add : ScatterFn::Assign;
  const ValueId written = scatter(c, fn, table, 0, index, src);
  c.set(c.permute(c.reshape(written, moved), inverse(perm)));
}

// --- places of true elements --------------------------------------------------------------------

/// For each element, how many true elements there are up to and including it: [n].
ValueId running_count(RuleContext& c, ValueId flat_mask) {
  return c.add(fb::CumSumT(), {c.cast(flat_mask, DType::kInt64)});
}

/// Row i holds the position of the i-th true element. The number of rows is the trace's, which a
/// guard checks; any further true elements would share one surplus row.
void nonzero(RuleContext& c) {
  const ValueId x = c.tensor("self");
  const Shape s = c.shape(x), to = c.out_shape();
  const int64_t n = s.numel(), rows = to.rank() == 2 ? to[0] : 0;
  if (n == 0 || to.numel() == 0) return c.set(c.filled(DType::kInt64, to, 0));
  const ValueId flat = c.reshape(c.cast(x, DType::kBool), {n});
  const ValueId surplus = c.scalar(DType::kInt64, rows);
  const ValueId row = c.binary_number(BinaryFn::Sub, running_count(c, flat), 1);
  const ValueId target = c.where(flat, c.binary(BinaryFn::Minimum, row, surplus), surplus);
  const ValueId blank = c.filled(DType::kInt64, {rows + 1}, 0);
  const ValueId all = scatter(c, ScatterFn::Assign, blank, 0, target, c.sequence({n}));
  const ValueId found = c.reshape(c.slice(all, 0, 0, rows), {rows, 1});
  std::vector<ValueId> columns;
  int64_t stride = n;
  for (int64_t size : s) {
    stride /= size;
    const ValueId line = c.binary_number(BinaryFn::FloorDivide, found, stride);
    columns.push_back(c.binary_number(BinaryFn::Remainder, line, size));
  }
  c.set(c.concat(columns, 1));
}

/// x[mask] = the elements of source, in order.
void masked_scatter(RuleContext& c) {
  const ValueId x = c.tensor("self"), source = c.tensor("source");
  const Shape s = c.shape(x);
  if (s.numel() == 0 || c.numel(source) == 0) return c.set(x);
  const ValueId mask = c.expand(c.cast(c.tensor("mask"), DType::kBool), s);
  const ValueId flat = c.reshape(mask, {s.numel()});
  const ValueId before = c.binary_number(BinaryFn::Sub, running_count(c, flat), 1);
  // If the source has too few elements, the position is invalid, so that the run is refused.
  const ValueId place = c.where(flat, before, c.scalar(DType::kInt64, int64_t{0}));
  const ValueId row = c.reshape(c.cast(source, c.dtype(x)), {c.numel(source)});
  c.set(c.where(mask, c.reshape(c.index_select(row, 0, place), s), x));
}

// --- scatter ----------------------------------------------------------------------------------

ScatterFn scatter_fn(RuleContext& c, const std::string& name) {
  if (name == "add" || name == "sum") return ScatterFn::Add;
  if (name == "multiply" || name == "prod") return ScatterFn::Mul;
  if (name == "amax") return ScatterFn::Max;
  if (name == "amin") return ScatterFn::Min;
  if (!name.empty()) c.refuse("with reduce='" + name + "' is not supported");
  return ScatterFn::Assign;
}

/// The value that leaves the other operand of a reduction as it is.
Scalar neutral(ScatterFn fn, DType t) {
  if (fn == ScatterFn::Mul) return 1;
  if (fn == ScatterFn::Max) return is_floating(t) ? Scalar(-HUGE_VAL) : dtype_lowest(t);
  if (fn == ScatterFn::Min) return is_floating(t) ? Scalar(HUGE_VAL) : dtype_max(t);
  return 0;
}

struct ScatterArgs {
  ValueId x = kNoValue;
  ValueId index = kNoValue;
  ValueId src = kNoValue;  ///< of the index's shape
  int axis = 0;
};

ValueId at_least_1d(RuleContext& c, ValueId x) { return c.rank(x) == 0 ? c.reshape(x, {1}) : x; }

ScatterArgs read_scatter(RuleContext& c) {
  ScatterArgs args;
  args.x = at_least_1d(c, c.tensor("self"));
  args.index = at_least_1d(c, index_tensor(c, "index"));
  args.axis = c.axis_arg("dim", args.x);
  const Shape s = c.shape(args.index);
  if (!c.has("src")) {
    args.src = c.expand(c.cast(c.operand("value"), c.dtype(args.x)), s);
    return args;
  }
  args.src = at_least_1d(c, c.cast(c.tensor("src"), c.dtype(args.x)));
  for (int i = 0; i < s.rank() && c.ok(); ++i) args.src = c.slice(args.src, i, 0, s[i]);
  return args;
}

/// Returns x, or, for reductions without self, x with the neutral element at all written places.
ValueId blanked(RuleContext& c, ScatterFn fn, const ScatterArgs& args) {
  const DType t = c.dtype(args.x);
  const ValueId blank = c.filled(t, c.shape(args.index), neutral(fn, t));
  return scatter(c, ScatterFn::Assign, args.x, args.axis, args.index, blank);
}

void emit_scatter(RuleContext& c, ScatterFn fn, ScatterArgs args, bool include_self) {
  if (!include_self && fn != ScatterFn::Assign) args.x = blanked(c, fn, args);
  const ValueId y = scatter(c, fn, args.x, args.axis, args.index, args.src);
  c.set(c.reshape(y, c.out_shape()));
}

/// Divides sums by their counts; elements that nothing is written to stay as they are.
void emit_mean(RuleContext& c, ScatterArgs args, bool include_self) {
  const DType t = c.dtype(args.x);
  if (!is_floating(t)) {
    c.refuse("with reduce='mean' on integers is not supported");
    return;
  }
  const ValueId none = c.filled(t, c.shape(args.x), include_self ? 1 : 0);
  const ValueId ones = c.filled(t, c.shape(args.index), 1);
  const ValueId count = scatter(c, ScatterFn::Add, none, args.axis, args.index, ones);
  if (!include_self) args.x = blanked(c, ScatterFn::Add, args);
  const ValueId sum = scatter(c, ScatterFn::Add, args.x, args.axis, args.index, args.src);
  const ValueId y = c.binary(BinaryFn::Div, sum, c.binary_number(BinaryFn::Maximum, count, 1));
  c.set(c.reshape(y, c.out_shape()));
}

void emit_reduce(RuleContext& c, const ScatterArgs& args) {
  const std::string reduce = c.text_or("reduce", "");
  const bool include_self = c.boolean_or("include_self", true);
  if (reduce == "mean") return emit_mean(c, args, include_self);
  emit_scatter(c, scatter_fn(c, reduce), args, include_self);
}

void scatter_any(RuleContext& c) { emit_reduce(c, read_scatter(c)); }
void scatter_add(RuleContext& c) { emit_scatter(c, ScatterFn::Add, read_scatter(c), true); }

/// Expands the index vector of `dim` to the shape of what is written.
ValueId spread_index(RuleContext& c, ValueId index, int axis, const Shape& to) {
  std::vector<int64_t> dims(to.size(), 1);
  if (!dims.empty()) dims[static_cast<size_t>(axis)] = c.numel(index);
  return c.expand(c.reshape(index, c.make_shape(dims)), to);
}

/// Whole slices along `dim` are written (or added).
void write_slices(RuleContext& c, ScatterFn fn, const char* source) {
  const ValueId x = at_least_1d(c, c.tensor("self"));
  const int axis = c.axis_arg("dim", x);
  ValueId src = at_least_1d(c, c.cast(c.tensor(source), c.dtype(x)));
  const Scalar alpha = c.number_or("alpha", 1);
  if (alpha.as_double() != 1.0) src = c.binary_number(BinaryFn::Mul, src, alpha);
  const ValueId index = spread_index(c, index_tensor(c, "index"), axis, c.shape(src));
  c.set(c.reshape(scatter(c, fn, x, axis, index, src), c.out_shape()));
}

void index_add(RuleContext& c) { write_slices(c, ScatterFn::Add, "source"); }
void index_copy(RuleContext& c) { write_slices(c, ScatterFn::Assign, "source"); }

void index_reduce(RuleContext& c) {
  ScatterArgs args;
  args.x = at_least_1d(c, c.tensor("self"));
  args.axis = c.axis_arg("dim", args.x);
  args.src = at_least_1d(c, c.cast(c.tensor("source"), c.dtype(args.x)));
  args.index = spread_index(c, index_tensor(c, "index"), args.axis, c.shape(args.src));
  emit_reduce(c, args);
}

void index_fill(RuleContext& c) {
  const ValueId x = at_least_1d(c, c.tensor("self"));
  const int axis = c.axis_arg("dim", x);
  Shape written = c.shape(x);
  written[axis] = c.numel(c.tensor("index"));
  const ValueId src = c.expand(c.cast(c.operand("value"), c.dtype(x)), written);
  const ValueId ids = wrapped(c, c.tensor("index"), c.dim(x, axis));
  const ValueId index = spread_index(c, ids, axis, written);
  c.set(c.reshape(scatter(c, ScatterFn::Assign, x, axis, index, src), c.out_shape()));
}

// --- by comparison ----------------------------------------------------------------------------

void one_hot(RuleContext& c) {
  const ValueId x = c.tensor("self");
  const int64_t classes = c.out_shape().back(0);
  const ValueId wide = c.unsqueeze(c.cast(x, DType::kInt64), c.rank(x));
  c.set(c.binary(BinaryFn::Eq, wide, c.sequence({classes})));
}

/// For each value, the number of boundaries before it: [..., m] against [..., n] or [n].
ValueId count_before(RuleContext& c, ValueId values, ValueId boundaries, bool right) {
  const ValueId v = c.unsqueeze(values, c.rank(values));
  ValueId b = boundaries;
  if (c.rank(b) > 1) b = c.unsqueeze(b, c.rank(b) - 1);
  const ValueId before = c.binary(right ? BinaryFn::Le : BinaryFn::Lt, b, v);
  const ValueId counted = c.cast(before, DType::kInt64);
  const ValueId count = c.reduce(fb::ReduceFn::Sum, counted, {c.rank(counted) - 1}, false);
  if (!is_floating(c.dtype(values))) return count;
  return c.where(c.unary(fb::UnaryFn::IsNan, values), c.scalar(DType::kInt64, c.dim(b, -1)), count);
}

/// Finds where bisection ends, step by step as ATen does: an element that is not on this side is on
/// the other one, so that NaN, in values and in boundaries, ends up where it does in ATen.
ValueId bisect(RuleContext& c, ValueId values, ValueId boundaries, bool right) {
  const int64_t n = c.dim(boundaries, -1);
  const int axis = c.rank(boundaries) - 1;
  ValueId low = c.filled(DType::kInt64, c.shape(values), 0);
  ValueId high = c.filled(DType::kInt64, c.shape(values), Scalar(n));
  for (int64_t left = n; left > 0 && c.ok(); left /= 2) {
    const ValueId middle =
        c.binary_number(BinaryFn::FloorDivide, c.binary(BinaryFn::Add, low, high), 2);
    const ValueId place = c.binary_number(BinaryFn::Minimum, middle, n - 1);
    fb::GatherT gather;
    gather.axis = axis;
    const ValueId b =
        axis == 0 ? c.index_select(boundaries, 0, place) : c.add(gather, {boundaries, place});
    const ValueId behind = c.binary(right ? BinaryFn::Gt : BinaryFn::Ge, b, values);
    const ValueId open = c.binary(BinaryFn::Lt, low, high);
    const ValueId up =
        c.binary(BinaryFn::LogicalAnd, open, c.unary(fb::UnaryFn::LogicalNot, behind));
    high = c.where(c.binary(BinaryFn::LogicalAnd, open, behind), middle, high);
    low = c.where(up, c.binary_number(BinaryFn::Add, middle, 1), low);
  }
  return low;
}

/// Whether each row of constants is in order, without NaN.
bool are_ordered(RuleContext& c, ValueId rows) {
  const auto known = c.constant_values(rows);
  if (!known) return false;
  const auto n = static_cast<size_t>(c.dim(rows, -1));
  for (size_t i = 0; i < known->size(); ++i) {
    const Scalar& v = (*known)[i];
    if (std::isnan(v.as_double())) return false;
    if (i % n == 0) continue;
    const Scalar& before = (*known)[i - 1];
    const bool falls = is_floating(c.dtype(rows)) ? v.as_double() < before.as_double()
                                                  : v.as_int() < before.as_int();
    if (falls) return false;
  }
  return true;
}

/// Counting is fastest for few boundaries, but gives bisection's result only if they are in order.
ValueId search(RuleContext& c, const char* in_order, ValueId boundaries, bool right) {
  constexpr int64_t kFew = 64;
  const DType t = c.promoted("self", in_order);
  const ValueId values = c.cast(c.operand("self"), t);
  boundaries = c.cast(boundaries, t);
  const bool few = c.dim(boundaries, -1) <= kFew;
  return few && are_ordered(c, boundaries) ? count_before(c, values, boundaries, right)
                                           : bisect(c, values, boundaries, right);
}

bool right_side(RuleContext& c) {
  return c.boolean_or("right", false) || c.text_or("side", "left") == "right";
}

void bucketize(RuleContext& c) {
  c.set(search(c, "boundaries", c.tensor("boundaries"), right_side(c)));
}

void searchsorted(RuleContext& c) {
  ValueId sequence = c.tensor("sorted_sequence");
  if (c.has("sorter")) {
    fb::GatherT in_order;
    in_order.axis = c.rank(sequence) - 1;
    sequence = c.add(in_order, {sequence, c.tensor("sorter")});
  }
  c.set(search(c, "sorted_sequence", sequence, right_side(c)));
}

/// Whether ATen sorts both tensors to find their common elements.
bool is_sorted_for(RuleContext& c, ValueId x, ValueId others) {
  const auto few = static_cast<int64_t>(10 * std::pow(static_cast<double>(c.numel(x)), 0.145));
  return c.has("elements") && c.has("test_elements") && c.numel(others) >= few;
}

/// Marks elements that occur again later. With assume_unique, ATen's sort takes the later one of
/// two equal elements for an element of the other tensor.
ValueId comes_again(RuleContext& c, ValueId x) {
  const int64_t n = c.numel(x);
  const ValueId later = c.binary(BinaryFn::Lt, c.sequence({n, 1}), c.sequence({n}));
  const ValueId row = c.reshape(x, {n});
  const ValueId equal = c.binary(BinaryFn::Eq, c.reshape(x, {n, 1}), row);
  const ValueId again = c.binary(BinaryFn::LogicalAnd, equal, later);
  return c.reshape(c.reduce(fb::ReduceFn::Any, again, {1}, false), c.shape(x));
}

/// Which elements are among `others`, or, with `invert`, which are not.
void isin(RuleContext& c) {
  const char* name = c.has("element") ? "element" : "elements";
  const char* test = c.has("test_element") ? "test_element" : "test_elements";
  const DType common = c.promoted(name, test);
  const ValueId x = c.cast(c.operand(name), common);
  const ValueId others = c.cast(c.operand(test), common);
  const ValueId row = c.reshape(others, {c.numel(others)});
  const ValueId equal = c.binary(BinaryFn::Eq, c.unsqueeze(x, c.rank(x)), row);
  ValueId found = c.reduce(fb::ReduceFn::Any, equal, {c.rank(equal) - 1}, false);
  if (c.boolean_or("assume_unique", false) && is_sorted_for(c, x, others)) {
    found = c.binary(BinaryFn::LogicalOr, found, comes_again(c, x));
  }
  c.set(c.boolean_or("invert", false) ? c.unary(fb::UnaryFn::LogicalNot, found) : found);
}

constexpr RuleEntry kIndexEntries[] = {
    {"embedding", embedding},
    {"embedding_bag", nullptr, "is not supported; use embedding and a sum or mean"},
    {"_embedding_bag", nullptr, "is not supported; use embedding and a sum or mean"},
    {"_embedding_bag_forward_only", nullptr, "is not supported; use embedding and a sum or mean"},
    {"index_select", index_select},
    {"take", take},
    {"gather", gather},
    {"index", index_any},
    {"_unsafe_index", index_any},
    {"index_put", index_put},
    {"_unsafe_index_put", index_put},
    {"_index_put_impl", index_put},
    {"scatter", scatter_any},
    {"scatter_reduce", scatter_any},
    {"scatter_add", scatter_add},
    {"index_add", index_add},
    {"index_copy", index_copy},
    {"index_reduce", index_reduce},
    {"index_fill", index_fill},
    {"one_hot", one_hot},
    {"bucketize", bucketize},
    {"searchsorted", searchsorted},
    {"isin.Tensor_Tensor", isin},
    {"isin.Tensor_Scalar", isin},
    {"isin.Scalar_Tensor", isin},
    {"nonzero", nonzero},
    {"nonzero_numpy", nullptr, kDataDependent},
    {"argwhere", nullptr, kDataDependent},
    {"masked_select", nullptr, kDataDependent},
    {"masked_scatter", masked_scatter},
    {"unique_consecutive", nullptr, kDataDependent},
    {"unique_dim", nullptr, kDataDependent},
    {"_unique", nullptr, kDataDependent},
    {"_unique2", nullptr, kDataDependent},
    {"bincount", nullptr, kDataDependent},
};

}  // namespace

const RuleList index_rules{kIndexEntries};

}  // namespace lazyrt
