#pragma once

// How passes change a graph: its nodes are rebuilt front to back, each kept or replaced.

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "host_tracer/graph/graph.h"

namespace lazyrt {

/// What rewrites of a graph (Graph::journal) did, node by node: so that graphs of one program at
/// several sizes are changed alike (dynamic/alike.h).
struct RewriteJournal {
  struct Step {
    bool changed = false;
    std::vector<int64_t> made;  ///< kinds of the nodes added, what they read, how many values
    std::vector<std::pair<ValueId, ValueId>> replaced;  ///< results, and what stands for them
  };
  std::vector<Step> steps;  ///< of all nodes offered, in order
  std::set<size_t> kept;    ///< nodes to be left as they are, by their place in `steps`
};

/// Given to a rule with the graph as rebuilt so far. Rules look up, at producers; what they leave
/// unread is dropped at the end.
class Rewriter {
 public:
  /// Looks at one node, whose operands are already those of the rebuilt graph. Either changes
  /// nothing and answers false (the node is kept), or calls replace() for every output that is read
  /// and answers true.
  using Rule = std::function<Outcome<bool>(Rewriter&, const Node&)>;

  Graph& graph() { return graph_; }
  const Value& value(ValueId id) const { return graph_.value(id); }
  const Node* producer(ValueId id) const { return graph_.producer(id); }
  /// The producer of `id` if it is of this op, else nullptr.
  const Node* producer(ValueId id, fb::OpAttrs kind) const;
  /// The producer as above, if this value is also read just once.
  const Node* sole_producer(ValueId id, fb::OpAttrs kind) const;
  bool is_constant(ValueId id) const;
  /// Readers of `id` that are left, roots of the graph included.
  int32_t uses(ValueId id) const;

  /// Appends a node to the rebuilt graph.
  Outcome<ValueId> add(const Attrs& attrs, const std::vector<ValueId>& inputs,
                       const Source& source);
  /// Readers of `from` read `to`, which holds the same: it takes name and origin over if it has
  /// none.
  void replace(ValueId from, ValueId to);
  /// replace(node.outputs[0], add(attrs, inputs, node.source)); answers true for the rule to
  /// return.
  Outcome<bool> replace_node(const Node& node, const Attrs& attrs,
                             const std::vector<ValueId>& inputs);

 private:
  friend Outcome<size_t> rewrite(Graph& graph, const Rule& rule);
  explicit Rewriter(Graph& graph) : graph_(graph), uses_(graph.use_counts()) {}
  Outcome<size_t> run(const Rule& rule);
  Outcome<bool> apply(const Rule& rule, const Node& node);
  ValueId resolve(ValueId id) const;
  void read(ValueId id);
  void unread(ValueId id);

  Graph& graph_;
  std::vector<int32_t> uses_;
  std::vector<ValueId> replaced_;  ///< per value: what stands for it, kNoValue = itself
};

/// Offers every node to the rule once, in order, then drops dead nodes. Returns how many were
/// replaced. After a failure the graph is void.
Outcome<size_t> rewrite(Graph& graph, const Rewriter::Rule& rule);

}  // namespace lazyrt
