// Views: reshapes, permutations, slices. A trace holds them as copies.

#include <algorithm>
#include <numeric>

#include "aten/rule_lists.h"

namespace lazyrt {
namespace {

void identity(RuleContext& c) { c.set(c.tensor("self")); }
void reshape(RuleContext& c) { c.set(c.reshape(c.tensor("self"), c.out_shape())); }
void expand(RuleContext& c) { c.set(c.expand(c.tensor("self"), c.out_shape())); }

void permute(RuleContext& c) {
  const ValueId x = c.tensor("self");
  std::vector<int> perm;
  for (int64_t d : c.ints("dims")) perm.push_back(c.axis(d, c.rank(x)));
  c.set(c.permute(x, perm));
}

void transpose(RuleContext& c) {
  const ValueId x = c.tensor("self");
  const bool by_axis = c.has("axis0");
  const int a = c.axis_arg(by_axis ? "axis0" : "dim0", x);
  const int b = c.axis_arg(by_axis ? "axis1" : "dim1", x);
  c.set(c.transpose(x, a, b));
}

/// The last two dims exchanged; t of a vector is the vector.
void matrix_transpose(RuleContext& c) {
  const ValueId x = c.tensor("self");
  const int r = c.rank(x);
  c.set(r < 2 ? x : c.transpose(x, r - 2, r - 1));
}

void numpy_transpose(RuleContext& c) {
  const ValueId x = c.tensor("self");
  std::vector<int> perm(static_cast<size_t>(c.rank(x)));
  std::iota(perm.rbegin(), perm.rend(), 0);
  c.set(c.permute(x, perm));
}

void movedim(RuleContext& c) {
  const ValueId x = c.tensor("self");
  const int r = c.rank(x);
  const std::vector<int64_t> from = c.ints("source");
  const std::vector<int64_t> to = c.ints("destination");
  if (from.size() != to.size()) {
    c.fail_arg("destination", "differs in length from 'source'");
    return;
  }
  std::vector<int> perm(static_cast<size_t>(r), -1);
  std::vector<bool> taken(static_cast<size_t>(r), false);
  for (size_t i = 0; i < from.size(); ++i) {
    const int source = c.axis(from[i], r);
    perm[static_cast<size_t>(c.axis(to[i], r))] = source;
    taken[static_cast<size_t>(source)] = true;
  }
  int next = 0;
  for (int& p : perm) {
    if (p >= 0) continue;
    while (taken[static_cast<size_t>(next)]) ++next;
    p = next++;
  }
  c.set(c.permute(x, perm));
}

/// A slice bound in [0, size].
int64_t clamp_bound(int64_t bound, int64_t size) {
  return std::clamp(bound < 0 ? bound + size : bound, int64_t{0}, size);
}

void slice(RuleContext& c) {
  const ValueId x = c.tensor("self");
  const int axis = c.axis_arg("dim", x);
  const int64_t size = c.dim(x, axis);
  const int64_t start = clamp_bound(c.integer_or("start", 0), size);
  const int64_t end = clamp_bound(c.integer_or("end", size), size);
  const int64_t step = c.integer_or("step", 1);
  if (step < 1) {
    c.fail_arg("step", "is below 1");
    return;
  }
  const int64_t length = end > start ? (end - start + step - 1) / step : 0;
  c.set(c.slice(x, axis, start, length, step));
}

void narrow(RuleContext& c) {
  const ValueId x = c.tensor("self");
  const int axis = c.axis_arg("dim", x);
  const Scalar given = c.number("start");
  const int64_t start = given.as_int() < 0 ? given.as_int() + c.dim(x, axis) : given.as_int();
  c.set(c.slice(x, axis, start, c.integer("length")));
}

/// An index in [0, size) of a dim.
int64_t index_arg(RuleContext& c, const char* name, int64_t size) {
  const int64_t given = c.integer(name);
  if (given >= -size && given < size) return given < 0 ? given + size : given;
  c.fail_arg(name, "is " + std::to_string(given) + " in a dim of " + std::to_string(size));
  return 0;
}

void select(RuleContext& c) {
  const ValueId x = c.tensor("self");
  const int axis = c.axis_arg("dim", x);
  const int64_t index = index_arg(c, "index", c.dim(x, axis));
  c.set(c.reshape(c.slice(x, axis, index, 1), c.out_shape()));
}

/// The parts follow each other; their sizes are those of the results.
void split(RuleContext& c) {
  const ValueId x = c.tensor("self");
  const int axis = c.has("dim") ? c.axis_arg("dim", x) : 0;
  int64_t start = 0;
  for (size_t i = 0; i < c.out_count() && c.ok(); ++i) {
    const int64_t size = c.out_shape(i)[axis];
    if (c.used(i)) c.set(i, c.slice(x, axis, start, size));
    start += size;
  }
}

void unbind(RuleContext& c) {
  const ValueId x = c.tensor("self");
  const int axis = c.has("dim") ? c.axis_arg("dim", x) : 0;
  for (size_t i = 0; i < c.out_count() && c.ok(); ++i) {
    if (!c.used(i)) continue;
    c.set(i, c.reshape(c.slice(x, axis, static_cast<int64_t>(i), 1), c.out_shape(i)));
  }
}

/// Moves the dims to the end and flattens them: there the diagonal has a step of C + 1.
void diagonal(RuleContext& c) {
  ValueId x = c.tensor("self");
  const int r = c.rank(x);
  const int a = c.axis(c.integer_or("dim1", 0), r);
  const int b = c.axis(c.integer_or("dim2", 1), r);
  std::vector<int> perm;
  for (int i = 0; i < r; ++i) {
    if (i != a && i != b) perm.push_back(i);
  }
  perm.insert(perm.end(), {a, b});
  x = c.permute(x, perm);
  const int64_t rows = c.dim(x, -2);
  const int64_t columns = c.dim(x, -1);
  Shape flat = c.out_shape();
  if (flat.rank() != r - 1) return c.set(x);
  const int64_t length = flat[r - 2];
  flat[r - 2] = rows * columns;
  const int64_t offset = c.integer_or("offset", 0);
  const int64_t start = offset >= 0 ? offset : -offset * columns;
  c.set(c.slice(c.reshape(x, flat), r - 2, length == 0 ? 0 : start, length, columns + 1));
}

/// The sum of the diagonal of a matrix.
void trace(RuleContext& c) {
  const ValueId x = c.cast(c.tensor("self"), c.out_dtype());
  const int64_t columns = c.dim(x, 1);
  const int64_t length = std::min(c.dim(x, 0), columns);
  const ValueId flat = c.reshape(x, {c.numel(x)});
  c.set(c.reduce(fb::ReduceFn::Sum, c.slice(flat, 0, 0, length, columns + 1), {0}, false));
}

/// Windows of `size` elements, every `step`-th, in a new last dim.
void unfold(RuleContext& c) {
  ValueId x = c.tensor("self");
  if (c.rank(x) == 0) x = c.reshape(x, {1});
  const int axis = c.axis(c.integer("dimension"), c.rank(x));
  const int64_t size = c.integer("size");
  const int64_t step = c.integer("step");
  const int64_t windows = c.out_shape()[axis];
  std::vector<int64_t> ids;
  for (int64_t w = 0; w < windows; ++w) {
    for (int64_t i = 0; i < size; ++i) ids.push_back(w * step + i);
  }
  const ValueId y = c.index_select(x, axis, c.constant_ints({windows, size}, ids));
  std::vector<int> perm;
  for (int i = 0; i < c.rank(y); ++i) {
    if (i != axis + 1) perm.push_back(i);
  }
  perm.push_back(axis + 1);
  c.set(c.reshape(c.permute(y, perm), c.out_shape()));
}

bool is_contiguous(const std::vector<int64_t>& size, const std::vector<int64_t>& stride) {
  int64_t expected = 1;
  for (size_t i = size.size(); i-- > 0;) {
    if (size[i] != 1 && stride[i] != expected) return false;
    expected *= size[i];
  }
  return true;
}

/// Position in memory of every element, in row-major order of `size`.
std::vector<int64_t> strided_positions(const std::vector<int64_t>& size,
                                       const std::vector<int64_t>& stride, int64_t offset) {
  std::vector<int64_t> positions = {offset};
  for (size_t d = 0; d < size.size(); ++d) {
    std::vector<int64_t> next;
    next.reserve(positions.size() * static_cast<size_t>(size[d]));
    for (int64_t p : positions) {
      for (int64_t i = 0; i < size[d]; ++i) next.push_back(p + i * stride[d]);
    }
    positions = std::move(next);
  }
  return positions;
}

/// Strides count elements of a contiguous operand.
void as_strided(RuleContext& c) {
  const ValueId x = c.tensor("self");
  const std::vector<int64_t> size = c.ints("size");
  const std::vector<int64_t> stride = c.ints("stride");
  const int64_t offset = c.integer_or("storage_offset", 0);
  if (size.size() != stride.size()) {
    c.fail_arg("stride", "differs in length from 'size'");
    return;
  }
  const Shape out = c.make_shape(size);
  const ValueId flat = c.reshape(x, {c.numel(x)});
  if (is_contiguous(size, stride)) {
    return c.set(c.reshape(c.slice(flat, 0, offset, out.numel()), out));
  }
  constexpr int64_t kMaxGather = 1 << 20;
  if (out.numel() > kMaxGather) {
    c.refuse("with these strides is not supported on a tensor this large; use view and transpose");
    return;
  }
  const ValueId ids = c.constant_ints(out, strided_positions(size, stride, offset));
  c.set(c.reshape(c.index_select(flat, 0, c.reshape(ids, {out.numel()})), out));
}

constexpr RuleEntry kViewEntries[] = {
    {"alias", identity},
    {"detach", identity},
    {"view_as_real", nullptr, "needs complex numbers, which the runtime lacks"},
    {"view_as_complex", nullptr, "needs complex numbers, which the runtime lacks"},
    {"view", reshape},
    {"view.dtype", nullptr, "reinterprets the bytes as another dtype, which is not supported"},
    {"_unsafe_view", reshape},
    {"reshape", reshape},
    {"reshape_as", reshape},
    {"view_as", reshape},
    {"_reshape_alias", reshape},
    {"_reshape", reshape},
    {"flatten", reshape},
    {"unflatten", reshape},
    {"ravel", reshape},
    {"unsqueeze", reshape},
    {"squeeze", reshape},
    {"expand", expand},
    {"expand_as", expand},
    {"broadcast_to", expand},
    {"permute", permute},
    {"transpose", transpose},
    {"swapaxes", transpose},
    {"swapdims", transpose},
    {"t", matrix_transpose},
    {"mT", matrix_transpose},
    {"adjoint", matrix_transpose},
    {"numpy_T", numpy_transpose},
    {"movedim", movedim},
    {"moveaxis", movedim},
    {"slice", slice},
    {"narrow", narrow},
    {"select", select},
    {"split", split},
    {"split_with_sizes", split},
    {"unsafe_split", split},
    {"unsafe_split_with_sizes", split},
    {"chunk", split},
    {"unsafe_chunk", split},
    {"tensor_split", split},
    {"unbind", unbind},
    {"diagonal", diagonal},
    {"trace", trace},
    {"unfold", unfold},
    {"as_strided", as_strided},
};

}  // namespace

const RuleList view_rules{kViewEntries};

}  // namespace lazyrt
