#pragma once

// Appends nodes of our op table to a graph, for the rules of aten/rules. Errors are sticky: after
// the first one every call does nothing and returns kNoValue, so a rule reads as straight code and
// the importer checks failure() once, at the end.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host_tracer/aten/scalar.h"
#include "host_tracer/graph/graph.h"

namespace lazyrt {

class Emitter {
 public:
  /// `graph` must outlive this. `is_static[v]` says whether value v depends on constants alone; it
  /// grows with the graph. `any_size`: nodes are made even where they do nothing at these extents,
  /// and large tensors are made like small ones.
  Emitter(Graph& graph, std::vector<bool>& is_static, Source source, bool any_size = false);

  bool ok() const { return !failure_; }
  /// REQUIRES: !ok().
  const Failure& failure() const { return *failure_; }
  /// Records a failure; only the first counts. Returns kNoValue.
  ValueId fail(Error error, std::string text);

  // dtype and shape of a value. kNoValue has dtype kNone and shape [].
  DType dtype(ValueId v) const;
  Shape shape(ValueId v) const;
  int rank(ValueId v) const { return shape(v).rank(); }
  /// Extent of a dim, counted from the end if negative; fails if the value has no such dim.
  int64_t dim(ValueId v, int64_t axis);
  int64_t numel(ValueId v) const { return shape(v).numel(); }
  /// True if the value is computed from constants alone (a weight, a transposed weight).
  bool is_static(ValueId v) const;
  /// Elements of a constant of the graph; nothing for a computed value.
  std::optional<std::vector<Scalar>> constant_values(ValueId v) const;
  /// The same for any static value: computed now if necessary.
  std::optional<std::vector<Scalar>> known_values(ValueId v) const;

  /// Whether the nodes made have to be the same at other extents.
  bool any_size() const { return any_size_; }

  /// An axis in [0, rank), or a failure that names it. Rank 0 is taken as rank 1, as ATen does.
  int axis(int64_t given, int rank);
  /// A Shape of at most kMaxRank extents.
  Shape make_shape(const std::vector<int64_t>& dims);

  // Constants.
  ValueId scalar(DType dtype, const Scalar& value);
  ValueId constant(DType dtype, const Shape& shape, const std::vector<Scalar>& values);
  ValueId constant_ints(const Shape& shape, const std::vector<int64_t>& values);
  /// 0, 1, 2, … in row-major order, as int64.
  ValueId sequence(const Shape& shape);
  /// A tensor of equal elements: a constant or, if it is large, an expanded scalar.
  ValueId filled(DType dtype, const Shape& shape, const Scalar& value);

  // Nodes.
  template <class TableT>
  ValueId add(const TableT& table, const std::vector<ValueId>& inputs) {
    const std::vector<ValueId> outputs = add_all(Attrs::of(table), inputs);
    return outputs.empty() ? kNoValue : outputs[0];
  }
  template <class TableT>
  std::vector<ValueId> add_multi(const TableT& table, const std::vector<ValueId>& inputs) {
    return add_all(Attrs::of(table), inputs);
  }

  // Nodes by purpose. A node that would change nothing is not made: its operand is returned.
  ValueId unary(fb::UnaryFn fn, ValueId x, double alpha = 0, double beta = 0);
  /// REQUIRES: operands of one dtype.
  ValueId binary(fb::BinaryFn fn, ValueId a, ValueId b);
  /// The second operand is a number, taken in the first one's dtype.
  ValueId binary_number(fb::BinaryFn fn, ValueId a, const Scalar& b);
  ValueId where(ValueId condition, ValueId a, ValueId b);
  ValueId cast(ValueId x, DType to);
  ValueId reshape(ValueId x, const Shape& to);
  ValueId permute(ValueId x, const std::vector<int>& perm);
  ValueId transpose(ValueId x, int a, int b);
  ValueId expand(ValueId x, const Shape& to);
  /// A dim of extent 1 before `axis` (in [0, rank]).
  ValueId unsqueeze(ValueId x, int axis);
  /// Takes `size` elements of one axis, every `step`-th from `start`.
  ValueId slice(ValueId x, int axis, int64_t start, int64_t size, int64_t step = 1);
  ValueId concat(const std::vector<ValueId>& xs, int axis);
  /// Axes ascending; none: x itself.
  ValueId reduce(fb::ReduceFn fn, ValueId x, const std::vector<int>& axes, bool keepdim);
  /// Negative ids count from the end or, without `from_end`, are refused at run.
  ValueId index_select(ValueId x, int axis, ValueId ids, bool from_end = true);
  ValueId matmul(ValueId a, ValueId b, bool transpose_b = false);
  /// [N,C,H,W] -> [N,H,W,C] and back.
  ValueId to_nhwc(ValueId x) { return permute(x, {0, 2, 3, 1}); }
  ValueId to_nchw(ValueId x) { return permute(x, {0, 3, 1, 2}); }

 private:
  std::vector<ValueId> add_all(const Attrs& attrs, const std::vector<ValueId>& inputs);
  void mark(ValueId v, bool is_static);
  bool has_shape(ValueId x, const Shape& to) const { return !any_size_ && shape(x) == to; }

  Graph& graph_;
  std::vector<bool>& is_static_;
  Source source_;
  bool any_size_;
  std::optional<Failure> failure_;
};

}  // namespace lazyrt
