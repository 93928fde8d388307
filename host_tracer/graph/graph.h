#pragma once

// The exporter's own program: typed SSA over the op table. Free of LibTorch.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "host_tracer/graph/attrs.h"
#include "host_tracer/graph/origin.h"
#include "host_tracer/support/outcome.h"
#include "host_tracer/trace/trace.h"
#include "lazyrt/dtype.h"
#include "lazyrt/shape.h"

namespace lazyrt {

struct RewriteJournal;  // rewriter.h

using ValueId = int32_t;
constexpr ValueId kNoValue = -1;

enum class ValueKind : uint8_t { kInput, kConstant, kNode, kState };

/// Affine quantization: real = scale * (stored - zero_point); one of each, or one for each channel
/// along `axis`. Room in the format: nothing makes or computes on such values yet.
struct ValueQuantization {
  std::vector<float> scales;
  std::vector<int64_t> zero_points;
  int axis = -1;  ///< -1: one scale
  bool operator==(const ValueQuantization&) const = default;
};

struct Value {
  std::string name;
  DType dtype = DType::kNone;
  Shape shape;
  ValueKind kind = ValueKind::kNode;
  /// kConstant: shape.numel() elements, row-major. kState: what it holds before the first run.
  ConstantData constant;
  int32_t producer = -1;  ///< kNode: index into Graph::nodes(), -1 while the node is taken out
  Origin origin;          ///< kNode: what it is in the trace
  /// Of a graph whose extents vary (dynamic/unify.h), per dim: a symbol whose value the extent is,
  /// of an input also the number of symbols + a term, or -1. Empty: none.
  std::vector<int32_t> symbols;
  std::optional<ValueQuantization> quantization;

  size_t bytes() const { return dtype_bytes(dtype, shape.numel()); }
};

struct Node {
  Attrs attrs;
  std::vector<ValueId> inputs;  ///< kNoValue: absent optional operand
  std::vector<ValueId> outputs;
  Source source;
};

struct GraphOutput {
  std::string name;
  ValueId value = kNoValue;
  std::optional<std::variant<bool, int64_t, double>> literal;  ///< instead of a value
};

/// An assumption: the one element of `value` is `seen` again, or this graph is not the program's
/// for these inputs. A bool says whether the element is 0; a real number counts as equal within
/// guard_tolerance().
struct GraphGuard {
  ValueId value = kNoValue;
  SeenNumber seen;  ///< bool; else int64_t for integral and bool values, double for floating ones
  std::string text;
  Source source;
  bool check = false;  ///< the program raises where it does not hold
};

/// A tensor that lives from run to run: `value` (kState) at the beginning of a run, which leaves
/// `next` in it, of the same dtype and shape.
struct GraphState {
  ValueId value = kNoValue;
  ValueId next = kNoValue;
};

/// Nodes are in topological order: passes rebuild that list front to back with a Rewriter
/// (rewriter.h). Ids of values stay valid until compact(); references to values and nodes stay
/// valid when others are added.
class Graph {
 public:
  explicit Graph(const OpTable& ops) : ops_(&ops) {}

  ValueId add_input(std::string name, DType dtype, const Shape& shape);
  /// A state that so far stays as it is; `first` is what it holds before the first run.
  ValueId add_state(std::string name, DType dtype, const Shape& shape, ConstantData first);
  ValueId add_constant(std::string name, DType dtype, const Shape& shape, ConstantData data);
  /// A constant that owns a copy of `bytes`.
  ValueId add_constant(std::string name, DType dtype, const Shape& shape, const void* bytes);
  /// A 0-dim constant of `dtype` with this value (converted).
  ValueId add_scalar(DType dtype, double value);

  /// Appends a node, finds its outputs' dtypes and shapes by the op's shape rule. The failure names
  /// the op, its operands and the source.
  Outcome<std::vector<ValueId>> add_node(const Attrs& attrs, const std::vector<ValueId>& inputs,
                                         const Source& source);
  /// add_node for an op with one output.
  Outcome<ValueId> add(const Attrs& attrs, const std::vector<ValueId>& inputs,
                       const Source& source);

  const OpTable& ops() const { return *ops_; }
  const Value& value(ValueId id) const { return values_[static_cast<size_t>(id)]; }
  Value& value(ValueId id) { return values_[static_cast<size_t>(id)]; }
  size_t value_count() const { return values_.size(); }
  const std::deque<Node>& nodes() const { return nodes_; }
  const std::vector<ValueId>& inputs() const { return inputs_; }
  const std::vector<GraphOutput>& outputs() const { return outputs_; }
  std::vector<GraphOutput>& outputs() { return outputs_; }
  const std::vector<GraphGuard>& guards() const { return guards_; }
  std::vector<GraphGuard>& guards() { return guards_; }
  const std::vector<GraphState>& states() const { return states_; }
  std::vector<GraphState>& states() { return states_; }
  /// Calls fn with the id of everything that the graph is computed for: outputs (kNoValue for a
  /// literal), guards, next values of states. fn may change it.
  template <class Fn>
  void for_each_root(const Fn& fn) {
    for (GraphOutput& out : outputs_) fn(out.value);
    for (GraphGuard& guard : guards_) fn(guard.value);
    for (GraphState& state : states_) fn(state.next);
  }
  template <class Fn>
  void for_each_root(const Fn& fn) const {
    for (const GraphOutput& out : outputs_) fn(out.value);
    for (const GraphGuard& guard : guards_) fn(guard.value);
    for (const GraphState& state : states_) fn(state.next);
  }

  // --- What passes use.

  /// The node that makes `id`, or nullptr for inputs, states, constants and kNoValue.
  const Node* producer(ValueId id) const;
  /// Per value: how many operands and roots read it.
  std::vector<int32_t> use_counts() const;
  /// What shape rules and kernels' `supports` see of a value; an absent one for kNoValue.
  TensorSpec spec(ValueId id) const;
  /// Moves all nodes out, in order; values and outputs stay. Their values are without a producer
  /// until append().
  std::deque<Node> take_nodes();
  /// Appends a node that take_nodes() gave; its outputs keep their ids. REQUIRES: its operands are
  /// defined by now.
  void append(Node node);
  /// Reads `to` wherever `from` was read, roots included. REQUIRES: `to` is defined before
  /// every user of `from`.
  void replace_all_uses(ValueId from, ValueId to);
  /// Takes back what was added last, so that this many nodes and values are left. REQUIRES: nothing
  /// that stays refers to it.
  void take_back(size_t nodes, size_t values);
  /// Drops nodes that no root needs. Returns how many.
  size_t remove_dead();
  /// Drops unread constants and node values and numbers the rest anew: inputs, states, then
  /// constants in order of first use, then node values. All ids held outside are void.
  void compact();

  std::vector<SampleTensor> sample_inputs;
  std::vector<SampleTensor> sample_outputs;
  RewriteJournal* journal = nullptr;  ///< of the rewrites, if somebody keeps one

 private:
  ValueId add_value(Value value);
  std::string describe(const Attrs& attrs, const std::vector<ValueId>& inputs,
                       const Source& source) const;

  const OpTable* ops_;
  std::deque<Value> values_;
  std::deque<Node> nodes_;
  std::vector<ValueId> inputs_;
  std::vector<GraphOutput> outputs_;
  std::vector<GraphGuard> guards_;
  std::vector<GraphState> states_;
};

/// The program as text: inputs, states, constants (values of up to 8 elements), nodes, guards, next
/// values of states, outputs, one a line:
///   %5: f32[1,112,112,32] = conv2d(%0, %1, -) {stride_h=2}  # features.0 (model.py:12)
/// `with_sources` = false leaves out the part after #.
std::string graph_text(const Graph& graph, bool with_sources = true);

/// Checks the invariants: every operand defined before its use, one producer per value, dtypes and
/// shapes equal to what the shape rules say, constants of the right size, roots defined; a guard
/// has one element, a state's next its type. The failure (kInternal) names the node.
Outcome<Done> verify_graph(const Graph& graph);

}  // namespace lazyrt
