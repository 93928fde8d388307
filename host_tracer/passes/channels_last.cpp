#include "host_tracer/passes/channels_last.h"

#include <algorithm>

#include "host_tracer/passes/pass_util.h"

namespace lazyrt {
namespace {

/// The place of a plain dim in channels-last order.
int32_t moved_axis(int32_t axis, int rank) {
  if (axis == 0) return 0;
  return axis == 1 ? rank - 1 : axis - 1;
}

template <class T>
std::vector<T> moved(const std::vector<T>& per_dim) {
  const std::vector<int32_t> perm = channels_last(static_cast<int>(per_dim.size()));
  std::vector<T> out;
  for (int32_t i : perm) out.push_back(per_dim[static_cast<size_t>(i)]);
  return out;
}

std::vector<int32_t> moved_axes(std::vector<int32_t> axes, int rank) {
  for (int32_t& axis : axes) axis = moved_axis(axis, rank);
  std::sort(axes.begin(), axes.end());
  return axes;
}

/// One question about one node.
class Former {
 public:
  Former(const Graph& graph, const Node& node, bool linear_readers)
      : graph_(graph),
        node_(node),
        linear_readers_(linear_readers),
        rank_(node.inputs.empty() || node.inputs[0] == kNoValue ? 0 : in().rank()) {}

  std::optional<LastForm> form() {
    switch (node_.attrs.kind()) {
      case fb::OpAttrs::Binary:
      case fb::OpAttrs::Where:
        return elementwise();
      case fb::OpAttrs::Reshape:
        return reshape();
      default:
        break;
    }
    if (rank_ < 3) return std::nullopt;
    switch (node_.attrs.kind()) {
      case fb::OpAttrs::Unary:
      case fb::OpAttrs::Cast:
        return made(node_.attrs);
      case fb::OpAttrs::Concat:
        return concat();
      case fb::OpAttrs::Slice:
        return slice();
      case fb::OpAttrs::Pad:
        return pad();
      case fb::OpAttrs::Flip:
        return flip();
      case fb::OpAttrs::Expand:
        return expand();
      case fb::OpAttrs::Softmax:
        return with_axis<fb::SoftmaxT>();
      case fb::OpAttrs::CumSum:
        return with_axis<fb::CumSumT>();
      case fb::OpAttrs::Scan:
        return with_axis<fb::ScanT>();
      case fb::OpAttrs::GroupNorm:
        return with_channel_axis<fb::GroupNormT>();
      case fb::OpAttrs::BatchNorm:
        return with_channel_axis<fb::BatchNormT>();
      case fb::OpAttrs::Reduce:
        return reduce();
      default:
        return std::nullopt;
    }
  }

 private:
  const Shape& in() const { return graph_.value(node_.inputs[0]).shape; }
  const Shape& out() const { return graph_.value(node_.outputs[0]).shape; }

  /// All of the attributes' table as an object to change.
  template <class TableT>
  TableT table() const {
    return *static_cast<const TableT*>(node_.attrs.unpack().value);
  }

  /// Takes operand 0 channels-last, and the others as they are.
  LastForm made(const Attrs& attrs) const {
    LastForm f;
    f.attrs = attrs;
    f.operands.assign(node_.inputs.size(), OperandForm::kAsIs);
    f.operands[0] = OperandForm::kLast;
    return f;
  }

  std::optional<LastForm> elementwise() const {
    const int rank = out().rank();
    if (rank < 3) return std::nullopt;
    LastForm f = made(node_.attrs);
    bool any = false;
    for (size_t i = 0; i < node_.inputs.size(); ++i) {
      const Shape& shape = graph_.value(node_.inputs[i]).shape;
      const bool scalar = shape.numel() == 1 && shape.rank() < rank;
      f.operands[i] = shape.rank() == rank ? OperandForm::kLast
                      : scalar             ? OperandForm::kAsIs
                                           : OperandForm::kRaised;
      any = any || shape.rank() == rank;
    }
    if (!any) return std::nullopt;
    return f;
  }

  std::optional<LastForm> concat() const {
    fb::ConcatT t = table<fb::ConcatT>();
    t.axis = moved_axis(t.axis, rank_);
    LastForm f = made(Attrs::of(t));
    f.operands.assign(node_.inputs.size(), OperandForm::kLast);
    return f;
  }

  std::optional<LastForm> slice() const {
    fb::SliceT t = table<fb::SliceT>();
    t.starts = moved(t.starts);
    t.sizes = moved(t.sizes);
    t.steps = moved(t.steps);
    return made(Attrs::of(t));
  }

  std::optional<LastForm> pad() const {
    fb::PadT t = table<fb::PadT>();
    t.before = moved(t.before);
    t.after = moved(t.after);
    return made(Attrs::of(t));
  }

  std::optional<LastForm> flip() const {
    fb::FlipT t = table<fb::FlipT>();
    t.axes = moved_axes(t.axes, rank_);
    return made(Attrs::of(t));
  }

  std::optional<LastForm> expand() const {
    fb::ExpandT t = table<fb::ExpandT>();
    if (out().rank() != rank_) return std::nullopt;
    t.shape = moved(t.shape);
    return made(Attrs::of(t));
  }

  template <class TableT>
  std::optional<LastForm> with_axis() const {
    TableT t = table<TableT>();
    t.axis = moved_axis(t.axis, rank_);
    return made(Attrs::of(t));
  }

  template <class TableT>
  std::optional<LastForm> with_channel_axis() const {
    TableT t = table<TableT>();
    t.channel_axis = moved_axis(t.channel_axis, rank_);
    return made(Attrs::of(t));
  }

  std::optional<LastForm> reduce() const {
    fb::ReduceT t = table<fb::ReduceT>();
    const auto reduces = [&](int32_t axis) {
      return std::find(t.axes.begin(), t.axes.end(), axis) != t.axes.end();
    };
    const bool batch = reduces(0), channels = reduces(1);
    const int left = rank_ - static_cast<int>(t.axes.size());
    t.axes = moved_axes(t.axes, rank_);
    LastForm f = made(Attrs::of(t));
    if (t.keepdim) return f;
    // Without the channels, or with at most [N, C] left, the order is plain again.
    f.last_result = !channels && left >= 3;
    if (f.last_result && batch) return std::nullopt;
    if (!channels && batch && left > 1) return std::nullopt;
    return f;
  }

  /// [N, C, ...] -> [N, C, ...]: the spatial dims in another form; or -> [N, C * ...] for linear.
  std::optional<LastForm> reshape() const {
    const Shape& from = in();
    const Shape& to = out();
    if (from.rank() < 3 || to.rank() < 2 || from.numel() == 0 || from[0] != to[0]) {
      return std::nullopt;
    }
    if (to.rank() >= 3 && to[1] == from[1]) {
      LastForm f = made(reshape_attrs(permuted(to, channels_last(to.rank()))));
      return f;
    }
    if (to.rank() != 2 || !linear_readers_) return std::nullopt;
    LastForm f = made(node_.attrs);
    f.last_result = false;
    f.flat_result = true;
    return f;
  }

  const Graph& graph_;
  const Node& node_;
  bool linear_readers_;
  int rank_;
};

}  // namespace

std::vector<int32_t> channels_last(int rank) {
  std::vector<int32_t> perm = {0};
  for (int32_t i = 2; i < rank; ++i) perm.push_back(i);
  perm.push_back(1);
  return perm;
}

std::optional<LastForm> last_form(const Graph& graph, const Node& node, bool linear_readers) {
  if (node.outputs.size() != 1) return std::nullopt;
  return Former(graph, node, linear_readers).form();
}

}  // namespace lazyrt
