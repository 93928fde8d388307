#pragma once

// Graphs of one program at several sizes become one graph whose numbers follow from symbols.

#include <optional>
#include <vector>

#include "host_tracer/dynamic/shapes.h"
#include "host_tracer/graph/graph.h"
#include "host_tracer/support/outcome.h"

namespace lazyrt {

/// A graph at any sizes: its structure is the same at all of them.
class DynamicGraph {
 public:
  const DynamicShapes& shapes() const { return shapes_; }
  const TermList& terms() const { return terms_; }
  const std::vector<fb::Patch>& patches() const { return patches_; }
  /// The graph at one of the points that it was made of; a generic size. Its values say which of
  /// their extents are symbols.
  const Graph& model() const { return model_; }

  /// The graph with other extents. Fails if a term cannot be computed or a shape rule refuses; the
  /// text names the sizes. Sample tensors are not copied.
  Outcome<Graph> at(const SizePoint& point) const;
  /// "slice: sizes[1] = seq (model.py:12)": a line for each number that varies.
  std::vector<std::string> text() const;

 private:
  friend class Unifier;
  explicit DynamicGraph(const OpTable& ops) : model_(ops) {}

  DynamicShapes shapes_;
  Graph model_;
  TermList terms_;
  std::vector<fb::Patch> patches_;  ///< in order of the nodes
};

/// How the texts of FailureKind::kDiffersAtSizes begin.
inline constexpr const char* kDiffersAtSizes = "the program is not the same at ";

/// What unify_graphs knows where it failed.
struct UnifyHints {
  std::optional<SizePoint> wanted;  ///< a point whose graph would say more
  Source place;                     ///< of what differs, as far as it is known
};

/// `graphs[k]` is the program at points[k], after all passes and compact(); the first is the base,
/// the last the largest (fit_points). A constant that varies becomes a number in a tensor (Full),
/// or a slice of the largest one. Fails (kUnsupported) with the place where the program takes
/// another path at another size, or has a number or constant that nothing known explains.
Outcome<DynamicGraph> unify_graphs(std::vector<Graph> graphs, const DynamicShapes& shapes,
                                   const std::vector<SizePoint>& points, UnifyHints* hints);

/// A point at which a graph does not work, and how DynamicGraph::at fails there.
struct BadPoint {
  SizePoint point;
  Failure failure;
};

/// The first of these sizes that the shape rules refuse: every size of each symbol (the others at
/// the base), up to `most` of a symbol, and `most` sizes of all together.
std::optional<BadPoint> try_shapes(const DynamicGraph& graph, const SizePoint& base, int64_t most);

}  // namespace lazyrt
