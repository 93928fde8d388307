#include "host_tracer/dynamic/optional_nodes.h"

#include <algorithm>
#include <map>
#include <optional>

#include "host_tracer/dynamic/alike.h"

namespace lazyrt {
namespace {

bool may_do_nothing(const Node& node) {
  const fb::OpAttrs kind = node.attrs.kind();
  return (kind == fb::OpAttrs::Pad || kind == fb::OpAttrs::Slice) && node.inputs.size() == 1;
}

/// The same operator with attributes that make it return its operand.
Attrs doing_nothing(const Attrs& attrs, const Shape& shape) {
  const auto rank = static_cast<size_t>(shape.rank());
  if (attrs.kind() == fb::OpAttrs::Slice) {
    fb::SliceT slice;
    slice.starts.assign(rank, 0);
    slice.sizes.assign(shape.begin(), shape.end());
    slice.steps.assign(rank, 1);
    return Attrs::of(slice);
  }
  fb::OpAttrsUnion pad = attrs.unpack();
  pad.AsPad()->before.assign(rank, 0);
  pad.AsPad()->after.assign(rank, 0);
  return Attrs(pad);
}

/// Two graphs as one list of steps, some of which one graph lacks. Values of both are numbered
/// together.
class Alignment {
 public:
  Alignment(const Graph& a, const Graph& b) : graphs_{&a, &b} {
    for (const int side : {0, 1}) of_[side].assign(graphs_[side]->value_count(), -1);
  }

  bool find() {
    if (!add_leaves()) return false;
    size_t i = 0, j = 0;
    while (i < count(0) || j < count(1)) {
      if (i < count(0) && j < count(1) && add_both(i, j)) {
        ++i, ++j;
      } else if (i < count(0) && may_do_nothing(node(0, i))) {
        add_one(0, i++);
      } else if (j < count(1) && may_do_nothing(node(1, j))) {
        add_one(1, j++);
      } else {
        return false;
      }
    }
    return find_roots();
  }

  bool lacks(int side) const {
    return std::any_of(steps_.begin(), steps_.end(),
                       [&](const Step& step) { return step.index[side] < 0; });
  }

  Outcome<Graph> build(int side) const {
    const Graph& from = *graphs_[side];
    Graph to(from.ops());
    std::vector<ValueId> made(parents_.size(), kNoValue);
    for (const ValueId id : from.inputs()) {
      const Value& v = from.value(id);
      made[at(side, id)] = to.add_input(v.name, v.dtype, v.shape);
    }
    for (const GraphState& state : from.states()) {
      const Value& v = from.value(state.value);
      made[at(side, state.value)] = to.add_state(v.name, v.dtype, v.shape, v.constant);
    }
    for (ValueId id = 0; id < static_cast<ValueId>(from.value_count()); ++id) {
      const Value& v = from.value(id);
      if (v.kind != ValueKind::kConstant || of_[side][static_cast<size_t>(id)] < 0) continue;
      made[at(side, id)] = to.add_constant(v.name, v.dtype, v.shape, v.constant);
    }
    for (const Step& step : steps_) LAZYRT_TRY(build_step(step, side, &to, &made));
    finish(side, made, &to);
    return to;
  }

 private:
  struct Step {
    int index[2] = {-1, -1};    ///< of the node in either graph
    std::vector<int> operands;  ///< -1: absent
    std::vector<int> outputs;
  };

  size_t count(int side) const { return graphs_[side]->nodes().size(); }
  const Node& node(int side, size_t i) const { return graphs_[side]->nodes()[i]; }
  int& number(int side, ValueId id) { return of_[side][static_cast<size_t>(id)]; }
  size_t at(int side, ValueId id) const {
    return static_cast<size_t>(of_[side][static_cast<size_t>(id)]);
  }
  /// `parent`: the operand of a step that may do nothing.
  int add_value(int parent = -1) {
    parents_.push_back(parent);
    return static_cast<int>(parents_.size()) - 1;
  }

  bool add_leaves() {
    const Graph &a = *graphs_[0], &b = *graphs_[1];
    if (a.inputs().size() != b.inputs().size() || a.states().size() != b.states().size())
      return false;
    for (size_t i = 0; i < a.inputs().size(); ++i)
      number(0, a.inputs()[i]) = number(1, b.inputs()[i]) = add_value();
    for (size_t i = 0; i < a.states().size(); ++i)
      number(0, a.states()[i].value) = number(1, b.states()[i].value) = add_value();
    return true;
  }

  bool comes_from(int value, int source) const {
    while (value >= 0 && value != source) value = parents_[static_cast<size_t>(value)];
    return value == source;
  }

  /// Merges the values that both graphs read, if one graph skipped steps that the other one has.
  std::optional<int> join(ValueId a, ValueId b) {
    if (a == kNoValue || b == kNoValue) return a == b ? std::optional(-1) : std::nullopt;
    const bool is_constant = graphs_[0]->value(a).kind == ValueKind::kConstant;
    if (is_constant != (graphs_[1]->value(b).kind == ValueKind::kConstant)) return std::nullopt;
    int &x = number(0, a), &y = number(1, b);
    if (is_constant && x < 0 && y < 0) x = y = add_value();
    if (x < 0 || y < 0) return std::nullopt;
    if (comes_from(x, y)) return x;
    return comes_from(y, x) ? std::optional(y) : std::nullopt;
  }

  bool add_both(size_t i, size_t j) {
    const Node &a = node(0, i), &b = node(1, j);
    if (a.attrs.kind() != b.attrs.kind() || a.inputs.size() != b.inputs.size() ||
        a.outputs.size() != b.outputs.size())
      return false;
    Step step;
    step.index[0] = static_cast<int>(i);
    step.index[1] = static_cast<int>(j);
    for (size_t k = 0; k < a.inputs.size(); ++k) {
      const auto operand = join(a.inputs[k], b.inputs[k]);
      if (!operand) return false;
      step.operands.push_back(*operand);
    }
    for (size_t k = 0; k < a.outputs.size(); ++k) {
      step.outputs.push_back(add_value());
      number(0, a.outputs[k]) = number(1, b.outputs[k]) = step.outputs.back();
    }
    steps_.push_back(std::move(step));
    return true;
  }

  void add_one(int side, size_t i) {
    const Node& only = node(side, i);
    Step step;
    step.index[side] = static_cast<int>(i);
    step.operands = {number(side, only.inputs[0])};
    step.outputs = {add_value(step.operands[0])};
    number(side, only.outputs[0]) = step.outputs[0];
    steps_.push_back(std::move(step));
  }

  bool find_roots() {
    std::vector<ValueId> a, b;
    graphs_[0]->for_each_root([&](ValueId id) { a.push_back(id); });
    graphs_[1]->for_each_root([&](ValueId id) { b.push_back(id); });
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      const auto root = join(a[i], b[i]);
      if (!root) return false;
      roots_.push_back(*root);
    }
    return true;
  }

  Outcome<Done> build_step(const Step& step, int side, Graph* to,
                           std::vector<ValueId>* made) const {
    const bool is_mine = step.index[side] >= 0;
    const int from = is_mine ? side : 1 - side;
    const Node& own = node(from, static_cast<size_t>(step.index[from]));
    std::vector<ValueId> operands;
    for (const int id : step.operands)
      operands.push_back(id < 0 ? kNoValue : (*made)[static_cast<size_t>(id)]);
    if (operands.empty() || is_mine) {
      auto outputs = to->add_node(own.attrs, operands, own.source);
      if (!outputs.ok()) return outputs.failure();
      for (size_t k = 0; k < outputs->size(); ++k)
        (*made)[static_cast<size_t>(step.outputs[k])] = (*outputs)[k];
      return Done{};
    }
    if (operands[0] == kNoValue)
      return Failure{Error::kUnsupported,
                     "the tensor that is padded or sliced is a constant of one size"};
    auto output =
        to->add(doing_nothing(own.attrs, to->value(operands[0]).shape), operands, own.source);
    if (!output.ok()) return output.failure();
    (*made)[static_cast<size_t>(step.outputs[0])] = *output;
    return Done{};
  }

  void finish(int side, const std::vector<ValueId>& made, Graph* to) const {
    const Graph& from = *graphs_[side];
    to->outputs() = from.outputs();
    to->guards() = from.guards();
    size_t i = 0;
    to->for_each_root([&](ValueId& id) {
      const int root = roots_[i++];
      id = root < 0 ? kNoValue : made[static_cast<size_t>(root)];
    });
    to->sample_inputs = from.sample_inputs;
    to->sample_outputs = from.sample_outputs;
    to->compact();
  }

  const Graph* graphs_[2];
  std::vector<int> of_[2];    ///< for each value of either graph: its number here
  std::vector<int> parents_;  ///< by number
  std::vector<Step> steps_;
  std::vector<int> roots_;
};

bool are_alike(const std::vector<Graph>& graphs) {
  const std::vector<int64_t> first = structure_of(graphs[0]);
  return std::all_of(graphs.begin(), graphs.end(),
                     [&](const Graph& graph) { return structure_of(graph) == first; });
}

}  // namespace

bool add_optional_nodes(std::vector<Graph>* graphs) {
  if (are_alike(*graphs)) return true;
  std::vector<Graph> made = *graphs;
  for (Graph& graph : made) graph.compact();
  // Steps that a later graph adds to the first one are added to those between in the second round.
  for (const int round : {0, 1}) {
    for (size_t k = 1; k < made.size(); ++k) {
      if (round > 0 && structure_of(made[k]) == structure_of(made[0])) continue;
      Alignment alignment(made[0], made[k]);
      if (!alignment.find()) return false;
      auto first = alignment.build(0), other = alignment.build(1);
      if (!first.ok() || !other.ok()) return false;
      if (alignment.lacks(0)) made[0] = std::move(*first);
      if (alignment.lacks(1)) made[k] = std::move(*other);
    }
  }
  if (!are_alike(made)) return false;
  *graphs = std::move(made);
  return true;
}

}  // namespace lazyrt
