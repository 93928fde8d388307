// Writes through views: what functionalization makes of `x[1:3] = y`.

#include <algorithm>
#include <numeric>

#include "aten/rule_lists.h"
#include "host_tracer/support/strided_places.h"

namespace lazyrt {
namespace {

/// `self` with the elements at `positions` of its row-major order taken from `src` in order.
ValueId overlay(RuleContext& c, ValueId self, ValueId src, const std::vector<int64_t>& positions) {
  const int64_t n = c.numel(self);
  std::vector<int64_t> ids(static_cast<size_t>(n));
  std::iota(ids.begin(), ids.end(), 0);
  for (size_t i = 0; i < positions.size(); ++i) {
    if (positions[i] < 0 || positions[i] >= n) {
      return c.fail(Error::kInvalidArgument, "writes outside of its operand");
    }
    ids[static_cast<size_t>(positions[i])] = n + static_cast<int64_t>(i);
  }
  const ValueId flat_src = c.reshape(src, {c.numel(src)});
  const ValueId both = c.concat({c.reshape(self, {n}), flat_src}, 0);
  return c.reshape(c.index_select(both, 0, c.constant_ints({n}, ids)), c.shape(self));
}

/// `src` in place of every step-th element of one axis.
ValueId write_slice(RuleContext& c, ValueId self, ValueId src, int axis, int64_t start,
                    int64_t step) {
  const int64_t size = c.dim(self, axis);
  const int64_t length = c.dim(src, axis);
  if (length == 0) return self;
  if (step == 1) {
    std::vector<ValueId> parts;
    if (start > 0) parts.push_back(c.slice(self, axis, 0, start));
    parts.push_back(src);
    const int64_t end = start + length;
    if (end < size) parts.push_back(c.slice(self, axis, end, size - end));
    return c.concat(parts, axis);
  }
  std::vector<int64_t> ids(static_cast<size_t>(size));
  std::iota(ids.begin(), ids.end(), 0);
  for (int64_t i = 0; i < length; ++i) ids[static_cast<size_t>(start + i * step)] = size + i;
  const ValueId both = c.concat({self, src}, axis);
  return c.index_select(both, axis, c.constant_ints({size}, ids));
}

void slice_scatter(RuleContext& c) {
  const ValueId self = c.tensor("self");
  const int axis = c.axis_arg("dim", self);
  const int64_t size = c.dim(self, axis);
  const auto bound = [size](int64_t b) {
    return std::clamp(b < 0 ? b + size : b, int64_t{0}, size);
  };
  const int64_t start = bound(c.integer_or("start", 0));
  const int64_t end = bound(c.integer_or("end", size));
  const int64_t step = std::max<int64_t>(c.integer_or("step", 1), 1);
  Shape written = c.shape(self);
  written[axis] = end > start ? (end - start + step - 1) / step : 0;
  const ValueId src = c.expand(c.cast(c.tensor("src"), c.dtype(self)), written);
  c.set(write_slice(c, self, src, axis, start, step));
}

void select_scatter(RuleContext& c) {
  const ValueId self = c.tensor("self");
  const int axis = c.axis_arg("dim", self);
  const int64_t size = c.dim(self, axis);
  const int64_t given = c.integer("index");
  if (given < -size || given >= size) {
    c.fail_arg("index", "is outside the dim");
    return;
  }
  Shape written = c.shape(self);
  written[axis] = 1;
  ValueId src = c.cast(c.tensor("src"), c.dtype(self));
  if (c.rank(src) == c.rank(self) - 1) src = c.unsqueeze(src, axis);
  src = c.expand(src, written);
  c.set(write_slice(c, self, src, axis, given < 0 ? given + size : given, 1));
}

bool repeats(std::vector<int64_t> positions) {
  std::sort(positions.begin(), positions.end());
  return std::adjacent_find(positions.begin(), positions.end()) != positions.end();
}

void as_strided_scatter(RuleContext& c) {
  const ValueId self = c.tensor("self");
  const std::vector<int64_t> size = c.ints("size");
  const std::vector<int64_t> stride = c.ints("stride");
  if (size.size() != stride.size()) {
    c.fail_arg("stride", "differs in length from 'size'");
    return;
  }
  const std::vector<int64_t> positions =
      strided_places(size, stride, c.integer_or("storage_offset", 0));
  if (repeats(positions)) {
    c.refuse(
        "writes into windows of as_strided that overlap, which the capture cannot follow: write "
        "into the tensor itself, or clone() the windows");
    return;
  }
  const ValueId src = c.expand(c.cast(c.tensor("src"), c.dtype(self)), c.make_shape(size));
  c.set(overlay(c, self, src, positions));
}

std::vector<int64_t> row_major_strides(const Shape& s) {
  std::vector<int64_t> strides(s.size(), 1);
  for (int i = s.rank() - 2; i >= 0; --i) {
    strides[static_cast<size_t>(i)] = strides[static_cast<size_t>(i) + 1] * s[i + 1];
  }
  return strides;
}

void diagonal_scatter(RuleContext& c) {
  const ValueId self = c.tensor("self");
  const ValueId src = c.cast(c.tensor("src"), c.dtype(self));
  const Shape s = c.shape(self);
  const int a = c.axis(c.integer_or("dim1", 0), s.rank());
  const int b = c.axis(c.integer_or("dim2", 1), s.rank());
  const std::vector<int64_t> strides = row_major_strides(s);
  std::vector<int64_t> size;
  std::vector<int64_t> stride;
  for (int i = 0; i < s.rank(); ++i) {
    if (i == a || i == b) continue;
    size.push_back(s[i]);
    stride.push_back(strides[static_cast<size_t>(i)]);
  }
  if (s.rank() < 2) {
    c.fail(Error::kInvalidArgument, "needs an operand of at least two dims");
    return;
  }
  const int64_t along_a = strides[static_cast<size_t>(a)];
  const int64_t along_b = strides[static_cast<size_t>(b)];
  size.push_back(c.dim(src, -1));
  stride.push_back(along_a + along_b);
  const int64_t offset = c.integer_or("offset", 0);
  const int64_t start = offset >= 0 ? offset * along_b : -offset * along_a;
  c.set(overlay(c, self, src, strided_places(size, stride, start)));
}

/// `src` in the dtype and shape of what it overwrites.
void copy(RuleContext& c) {
  c.set(c.expand(c.cast(c.tensor("src"), c.out_dtype()), c.out_shape()));
}

constexpr RuleEntry kViewWriteEntries[] = {
    {"slice_scatter", slice_scatter},
    {"select_scatter", select_scatter},
    {"as_strided_scatter", as_strided_scatter},
    {"diagonal_scatter", diagonal_scatter},
    {"copy", copy},
};

}  // namespace

const RuleList view_write_rules{kViewWriteEntries};

}  // namespace lazyrt
