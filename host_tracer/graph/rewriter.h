#pragma once

// How passes change a graph: its nodes are rebuilt front to back, each kept or replaced. What a
// rule does about one node is a patch: made as a whole or not at all.

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
  /// Looks at one node, whose operands are already those of the rebuilt graph. Either answers true,
  /// after it has inserted what it likes and called replace() for every output that is read: the
  /// node is removed. Or answers false: all that it did is undone and the node kept.
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

  /// Inserts a node, before the one that the rule looks at.
  Outcome<ValueId> add(const Attrs& attrs, const std::vector<ValueId>& inputs,
                       const Source& source);
  /// Readers of `from` read `to`, which holds the same in the same type: it takes name and origin
  /// over if it has none.
  void replace(ValueId from, ValueId to);
  /// Inserts a node whose outputs replace those of `node`. Returns true, for the rule to return.
  Outcome<bool> replace_node(const Node& node, const Attrs& attrs,
                             const std::vector<ValueId>& inputs);

 private:
  friend Outcome<size_t> rewrite(Graph& graph, const Rule& rule);
  explicit Rewriter(Graph& graph) : graph_(graph), uses_(graph.use_counts()) {}

  /// What a rule has done so far about one node, and how it was before.
  struct Patch {
    size_t nodes = 0, values = 0;
    std::vector<std::pair<ValueId, int32_t>> uses;
    std::vector<std::pair<ValueId, ValueId>> replaced;  ///< values, and what stood for them
    std::vector<ValueId> named, placed;                 ///< that took over a name, an origin
  };

  Outcome<size_t> run(const Rule& rule);
  Outcome<bool> patch(const Rule& rule, const Node& node);
  Outcome<bool> apply(const Rule& rule, const Node& node);
  Outcome<Done> check(const Node& node) const;
  Outcome<Done> check_replaced(const Node& node, ValueId from, ValueId to) const;
  void undo();
  ValueId resolve(ValueId id) const;
  void set_uses(ValueId id, int32_t count);
  void read(ValueId id);
  void unread(ValueId id);

  Graph& graph_;
  Patch patch_;
  std::vector<int32_t> uses_;
  std::vector<ValueId> replaced_;  ///< per value: what stands for it, kNoValue = itself
};

/// Offers every node to the rule once, in order, then drops dead nodes. Returns how many were
/// replaced. Fails where the rule does, and where its patch is wrong: a result that is read and not
/// replaced, by a value of another type, or by one that is not made before the node. After a
/// failure the graph is whole: as the patches before the failed one have left it.
Outcome<size_t> rewrite(Graph& graph, const Rewriter::Rule& rule);

}  // namespace lazyrt
