// Convolutions and their kin take and give channels-last data ([N, H, W, C]); the importer puts a
// permute before and after each. Here the permutes are taken as facts rather than as work: "this
// value is wanted channels-last", "this value is made channels-last". Every node that could run on
// either form then gets a label such that the fewest bytes are converted between forms. With two
// labels that is a minimum cut: a value whose maker and readers differ costs its bytes, once.

#include <algorithm>
#include <map>
#include <utility>

#include "host_tracer/passes/channels_last.h"
#include "host_tracer/passes/min_cut.h"
#include "host_tracer/passes/pass_util.h"
#include "host_tracer/passes/passes.h"

namespace lazyrt {
namespace {

/// Permutes of rank 3 are their own inverse: what follows suggests which of the two they are; at
/// most this many are tried out.
constexpr size_t kMostTrials = 24;

enum class Role : uint8_t {
  kPlain,     ///< takes and gives plain data
  kToLast,    ///< a permute: takes its operand channels-last, gives the same bytes as plain data
  kFromLast,  ///< a permute: its plain operand is its result channels-last
  kFree,      ///< runs on either; the label says on which
};

struct NodeLayout {
  Role role = Role::kPlain;
  LastForm form;      ///< kFree
  bool last = false;  ///< kFree: the label
};

/// Bytes that change place when the value is converted; 1 if a reshape does it, so that among equal
/// labellings the one with fewer nodes is chosen.
int64_t conversion_cost(const Value& v) {
  if (v.kind == ValueKind::kConstant || v.shape.rank() < 3) return 0;
  if (moves_only_units(v.shape, channels_last(v.shape.rank()))) return 1;
  return static_cast<int64_t>(v.bytes());
}

Shape raised(const Shape& shape, int rank) {
  Shape out;
  for (int i = shape.rank(); i < rank; ++i) out.append(1);
  for (int64_t d : shape) out.append(d);
  return out;
}

/// Per value: the nodes that read it, and whether it is a root of the graph.
struct Readers {
  std::vector<std::vector<size_t>> nodes;
  std::vector<bool> returned;
};

Readers readers_of(const Graph& graph) {
  Readers r{std::vector<std::vector<size_t>>(graph.value_count()),
            std::vector<bool>(graph.value_count(), false)};
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    for (ValueId id : graph.nodes()[n].inputs) {
      if (id != kNoValue) r.nodes[static_cast<size_t>(id)].push_back(n);
    }
  }
  graph.for_each_root([&](ValueId id) {
    if (id != kNoValue) r.returned[static_cast<size_t>(id)] = true;
  });
  return r;
}

bool is_constant(const Graph& graph, ValueId id) {
  return id == kNoValue || graph.value(id).kind == ValueKind::kConstant;
}

/// True when only linear nodes with constant weights read the value, as their x.
bool has_linear_readers(const Graph& graph, const Readers& readers, ValueId id) {
  if (readers.returned[static_cast<size_t>(id)]) return false;
  for (size_t n : readers.nodes[static_cast<size_t>(id)]) {
    const Node& node = graph.nodes()[n];
    if (node.attrs.kind() != fb::OpAttrs::Linear || node.inputs[0] != id) return false;
    if (is_constant(graph, id) || !is_constant(graph, node.inputs[1])) return false;
  }
  return !readers.nodes[static_cast<size_t>(id)].empty();
}

/// Chooses the labels.
class Assignment {
 public:
  explicit Assignment(const Graph& graph) : graph_(graph), readers_(readers_of(graph)) {
    for (const Node& node : graph.nodes()) layouts_.push_back(classify(node));
  }

  /// The cheapest layouts found.
  std::vector<NodeLayout> solve() {
    std::vector<size_t> ambiguous = ambiguous_permutes();
    const std::vector<bool> wanted = wanted_last();
    for (size_t n : ambiguous) {
      const auto out = static_cast<size_t>(graph_.nodes()[n].outputs[0]);
      if (wanted[out]) layouts_[n].role = Role::kFromLast;
    }
    int64_t best = cut();
    if (ambiguous.size() > kMostTrials) ambiguous.clear();
    for (size_t n : ambiguous) {
      const std::vector<NodeLayout> before = layouts_;
      const bool to_last = layouts_[n].role == Role::kToLast;
      layouts_[n].role = to_last ? Role::kFromLast : Role::kToLast;
      const int64_t cost = cut();
      if (cost >= best) {
        layouts_ = before;
      } else {
        best = cost;
      }
    }
    return layouts_;
  }

 private:
  NodeLayout classify(const Node& node) const {
    if (node.attrs.kind() == fb::OpAttrs::Permute) return {permute_role(node), {}, false};
    const bool linear_readers =
        !node.outputs.empty() && has_linear_readers(graph_, readers_, node.outputs[0]);
    std::optional<LastForm> form = last_form(graph_, node, linear_readers);
    if (!form) return {};
    return {Role::kFree, std::move(*form), false};
  }

  Role permute_role(const Node& node) const {
    const std::vector<int32_t> perm = permutation_of(node);
    if (perm.size() < 3 || is_constant(graph_, node.inputs[0])) return Role::kPlain;
    const std::vector<int32_t> last = channels_last(static_cast<int>(perm.size()));
    if (perm == last) return Role::kToLast;
    return perm == inverse(last) ? Role::kFromLast : Role::kPlain;
  }

  std::vector<size_t> ambiguous_permutes() const {
    std::vector<size_t> found;
    for (size_t n = 0; n < layouts_.size(); ++n) {
      const bool is_permute = graph_.nodes()[n].attrs.kind() == fb::OpAttrs::Permute;
      const bool self_inverse = is_permute && permutation_of(graph_.nodes()[n]).size() == 3;
      if (self_inverse && layouts_[n].role == Role::kToLast) found.push_back(n);
    }
    return found;
  }

  /// For each value, whether nodes that run on either form lead from it to a node that certainly
  /// wants it channels-last.
  std::vector<bool> wanted_last() const {
    std::vector<bool> wanted(graph_.value_count(), false);
    for (size_t n = layouts_.size(); n-- > 0;) {
      const NodeLayout& layout = layouts_[n];
      const Node& node = graph_.nodes()[n];
      const bool to_last = layout.role == Role::kToLast;
      const bool passes_on = layout.role == Role::kFree && layout.form.last_result &&
                             wanted[static_cast<size_t>(node.outputs[0])];
      for (ValueId id : node.inputs) {
        if (id == kNoValue) continue;
        const bool is_image = graph_.value(id).shape.rank() > 3;
        if (passes_on || (to_last && is_image)) wanted[static_cast<size_t>(id)] = true;
      }
    }
    return wanted;
  }

  /// Labels every free node; returns the bytes that will be moved.
  int64_t cut() {
    MinCut flow;
    std::vector<int> label(layouts_.size(), MinCut::kSink);
    for (size_t n = 0; n < layouts_.size(); ++n) {
      if (layouts_[n].role == Role::kFree) label[n] = flow.add_node();
    }
    for (size_t n = 0; n < layouts_.size(); ++n) add_raised_cost(flow, n, label[n]);
    for (ValueId id = 0; id < static_cast<ValueId>(graph_.value_count()); ++id) {
      add_value_cost(flow, label, id);
    }
    const int64_t cost = flow.solve();
    for (size_t n = 0; n < layouts_.size(); ++n) {
      if (layouts_[n].role == Role::kFree) layouts_[n].last = flow.on_source_side(label[n]);
    }
    return cost;
  }

  /// Operands that broadcast from a lower rank must be moved if the node runs channels-last.
  void add_raised_cost(MinCut& flow, size_t n, int label) const {
    if (layouts_[n].role != Role::kFree) return;
    const Node& node = graph_.nodes()[n];
    const int rank = graph_.value(node.outputs[0]).shape.rank();
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (layouts_[n].form.operands[i] != OperandForm::kRaised) continue;
      Value v = graph_.value(node.inputs[i]);
      v.shape = raised(v.shape, rank);
      const int64_t cost = conversion_cost(v);
      if (cost > 0) flow.add_edge(label, MinCut::kSink, cost);
    }
  }

  /// The form in which a node makes its result: a label of the cut (kSource = channels-last).
  int made_as(const std::vector<int>& label, ValueId id) const {
    const int32_t n = graph_.value(id).producer;
    if (n < 0) return MinCut::kSink;
    const NodeLayout& layout = layouts_[static_cast<size_t>(n)];
    if (layout.role == Role::kFromLast) return MinCut::kSource;
    if (layout.role != Role::kFree || !layout.form.last_result) return MinCut::kSink;
    return label[static_cast<size_t>(n)];
  }

  /// The form in which node n reads the value.
  int read_as(const std::vector<int>& label, size_t n, ValueId id) const {
    const NodeLayout& layout = layouts_[n];
    if (layout.role == Role::kToLast) return MinCut::kSource;
    if (layout.role != Role::kFree) return MinCut::kSink;
    const std::vector<ValueId>& operands = graph_.nodes()[n].inputs;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i] == id && layout.form.operands[i] == OperandForm::kLast) return label[n];
    }
    return MinCut::kSink;
  }

  /// With p = maker and c_i = readers: cost if p is plain and any c_i is not, or the other way
  /// round.
  void add_value_cost(MinCut& flow, const std::vector<int>& label, ValueId id) const {
    const int64_t cost = conversion_cost(graph_.value(id));
    const auto& nodes = readers_.nodes[static_cast<size_t>(id)];
    if (cost == 0 || (nodes.empty() && !readers_.returned[static_cast<size_t>(id)])) return;
    const int maker = made_as(label, id);
    const int any_last = flow.add_node();
    const int all_last = flow.add_node();
    const auto add_reader = [&](int reader) {
      flow.add_edge(reader, any_last, MinCut::kInfinite);
      flow.add_edge(all_last, reader, MinCut::kInfinite);
    };
    for (size_t n : nodes) add_reader(read_as(label, n, id));
    if (readers_.returned[static_cast<size_t>(id)]) add_reader(MinCut::kSink);
    flow.add_edge(any_last, maker, cost);
    flow.add_edge(maker, all_last, cost);
  }

  const Graph& graph_;
  Readers readers_;
  std::vector<NodeLayout> layouts_;
};

/// Rebuilds the graph with the chosen layouts; converts values where they are first wanted.
class Emission {
 public:
  explicit Emission(Graph& graph) : graph_(graph) {}

  Outcome<size_t> run(const std::vector<NodeLayout>& layouts) {
    const std::deque<Node> old = graph_.take_nodes();
    size_t changed = 0;
    for (size_t n = 0; n < old.size(); ++n) {
      changed += layouts[n].role == Role::kFree && layouts[n].last ? 1 : 0;
      LAZYRT_TRY(emit(old[n], layouts[n]));
    }
    std::optional<Failure> failed;
    graph_.for_each_root([&](ValueId& id) {
      if (id == kNoValue || failed) return;
      auto plain = as_plain(id, {});
      if (plain.ok()) id = *plain;
      if (!plain.ok()) failed = plain.failure();
    });
    if (failed) return *failed;
    graph_.remove_dead();
    return changed;
  }

 private:
  /// What now holds an old value. `flat_of`: it is a flattened value of that plain shape, with the
  /// channels innermost.
  struct Forms {
    ValueId plain = kNoValue;
    ValueId last = kNoValue;
    std::optional<Shape> flat_of;
  };

  Forms& forms(ValueId id) {
    Forms& f = forms_[id];
    if (graph_.value(id).kind != ValueKind::kNode) f.plain = id;
    return f;
  }

  Outcome<ValueId> convert(ValueId x, const std::vector<int32_t>& perm, const Source& source) {
    const Shape& shape = graph_.value(x).shape;
    if (moves_only_units(shape, perm)) {
      return graph_.add(reshape_attrs(permuted(shape, perm)), {x}, source);
    }
    return graph_.add(permute_attrs(perm), {x}, source);
  }

  Outcome<ValueId> as_plain(ValueId id, const Source& source) {
    Forms& f = forms(id);
    if (f.plain != kNoValue) return f.plain;
    const int rank = graph_.value(id).shape.rank();
    auto made = convert(f.last, inverse(channels_last(rank)), source);
    if (made.ok()) f.plain = *made;
    return made;
  }

  Outcome<ValueId> as_last(ValueId id, const Source& source) {
    Forms& f = forms(id);
    if (f.last != kNoValue) return f.last;
    auto made = convert(f.plain, channels_last(graph_.value(id).shape.rank()), source);
    if (made.ok()) f.last = *made;
    return made;
  }

  Outcome<ValueId> as_raised(ValueId id, int rank, const Source& source) {
    auto plain = as_plain(id, source);
    if (!plain.ok()) return plain;
    auto full = graph_.add(reshape_attrs(raised(graph_.value(id).shape, rank)), {*plain}, source);
    if (!full.ok()) return full;
    return convert(*full, channels_last(rank), source);
  }

  Outcome<Done> emit(const Node& node, const NodeLayout& layout) {
    if (layout.role == Role::kFree && layout.last) return emit_last(node, layout.form);
    if (layout.role == Role::kToLast || layout.role == Role::kFromLast) {
      const bool to = layout.role == Role::kToLast;
      auto x = to ? as_last(node.inputs[0], node.source) : as_plain(node.inputs[0], node.source);
      if (!x.ok()) return x.failure();
      Forms& result = forms(node.outputs[0]);
      (to ? result.plain : result.last) = *x;
      return Done{};
    }
    return emit_plain(node);
  }

  Outcome<Done> emit_plain(const Node& node) {
    Node plain = node;
    for (size_t i = 0; i < plain.inputs.size(); ++i) {
      ValueId& id = plain.inputs[i];
      if (id == kNoValue) continue;
      if (forms(id).flat_of) return emit_flat_linear(node);
      auto x = as_plain(id, node.source);
      if (!x.ok()) return x.failure();
      id = *x;
    }
    for (ValueId id : plain.outputs) forms(id).plain = id;
    graph_.append(std::move(plain));
    return Done{};
  }

  Outcome<Done> emit_last(const Node& node, const LastForm& form) {
    const int rank = graph_.value(node.outputs[0]).shape.rank();
    std::vector<ValueId> operands = node.inputs;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i] == kNoValue) continue;
      auto x = form.operands[i] == OperandForm::kLast ? as_last(operands[i], node.source)
               : form.operands[i] == OperandForm::kRaised
                   ? as_raised(operands[i], rank, node.source)
                   : as_plain(operands[i], node.source);
      if (!x.ok()) return x.failure();
      operands[i] = *x;
    }
    auto made = graph_.add(form.attrs, operands, node.source);
    if (!made.ok()) return made.failure();
    Forms& result = forms(node.outputs[0]);
    (form.last_result || form.flat_result ? result.last : result.plain) = *made;
    if (!form.flat_result) {
      const Origin& plain = graph_.value(node.outputs[0]).origin;
      graph_.value(*made).origin = form.last_result ? plain.permuted(channels_last(rank)) : plain;
    }
    if (form.flat_result) result.flat_of = graph_.value(node.inputs[0]).shape;
    return Done{};
  }

  /// For a linear over a flattened channels-last value: puts the columns of its weights into that
  /// order.
  Outcome<Done> emit_flat_linear(const Node& node) {
    const Forms x = forms(node.inputs[0]);
    const ValueId weight = node.inputs[1];
    const int64_t rows = graph_.value(weight).shape[0];
    const Shape columns = graph_.value(weight).shape;
    Shape split = *x.flat_of;
    split[0] = rows;
    auto by_channel = graph_.add(reshape_attrs(split), {weight}, node.source);
    if (!by_channel.ok()) return by_channel.failure();
    auto moved = graph_.add(permute_attrs(channels_last(split.rank())), {*by_channel}, node.source);
    if (!moved.ok()) return moved.failure();
    auto flat = graph_.add(reshape_attrs(columns), {*moved}, node.source);
    if (!flat.ok()) return flat.failure();
    Node linear = node;
    linear.inputs[0] = x.last;
    linear.inputs[1] = *flat;
    forms(node.outputs[0]).plain = node.outputs[0];
    graph_.append(std::move(linear));
    return Done{};
  }

  Graph& graph_;
  std::map<ValueId, Forms> forms_;
};

}  // namespace

Outcome<size_t> assign_layout(Graph& graph) {
  const std::vector<NodeLayout> layouts = Assignment(graph).solve();
  return Emission(graph).run(layouts);
}

}  // namespace lazyrt
