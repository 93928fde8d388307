#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace lazyrt {

/// A directed graph with capacities whose minimum cut between a source and a sink is wanted.
/// Algorithm: Dinic, "Algorithm for solution of a problem of maximum flow in networks", 1970.
class MinCut {
 public:
  static constexpr int64_t kInfinite = int64_t{1} << 60;
  static constexpr int kSource = 0;
  static constexpr int kSink = 1;

  int add_node();
  /// Costs `capacity` when `from` ends on the source's side and `to` on the sink's.
  void add_edge(int from, int to, int64_t capacity);

  /// Finds the cut and returns its cost. Among all minimum cuts it is the one with the fewest nodes
  /// on the source's side.
  int64_t solve();
  /// REQUIRES: solve() was called.
  bool on_source_side(int node) const { return level_[static_cast<size_t>(node)] >= 0; }

 private:
  struct Edge {
    int to;
    int64_t capacity;
  };
  bool find_levels();
  /// The next edge from the node that leads one level up and has capacity left; nothing if there is
  /// none.
  std::optional<size_t> edge_up(int node);
  /// Sends as much along the path as its narrowest edge allows.
  int64_t send(const std::vector<size_t>& path);
  /// Sends as much as all paths of rising levels allow.
  int64_t push();

  std::vector<Edge> edges_;  ///< edge i and its reverse i ^ 1
  std::vector<std::vector<size_t>> out_ = std::vector<std::vector<size_t>>(2);
  std::vector<int> level_;
  std::vector<size_t> next_;
};

}  // namespace lazyrt
