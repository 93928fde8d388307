#include "host_tracer/passes/min_cut.h"

#include <algorithm>

namespace lazyrt {

int MinCut::add_node() {
  out_.emplace_back();
  return static_cast<int>(out_.size()) - 1;
}

void MinCut::add_edge(int from, int to, int64_t capacity) {
  out_[static_cast<size_t>(from)].push_back(edges_.size());
  edges_.push_back({to, capacity});
  out_[static_cast<size_t>(to)].push_back(edges_.size());
  edges_.push_back({from, 0});
}

bool MinCut::find_levels() {
  level_.assign(out_.size(), -1);
  level_[kSource] = 0;
  std::vector<int> queue = {kSource};
  for (size_t head = 0; head < queue.size(); ++head) {
    const int node = queue[head];
    for (size_t e : out_[static_cast<size_t>(node)]) {
      const auto to = static_cast<size_t>(edges_[e].to);
      if (edges_[e].capacity == 0 || level_[to] >= 0) continue;
      level_[to] = level_[static_cast<size_t>(node)] + 1;
      queue.push_back(edges_[e].to);
    }
  }
  return level_[kSink] >= 0;
}

std::optional<size_t> MinCut::edge_up(int node) {
  const auto n = static_cast<size_t>(node);
  for (size_t& i = next_[n]; i < out_[n].size(); ++i) {
    const Edge& edge = edges_[out_[n][i]];
    if (edge.capacity > 0 && level_[static_cast<size_t>(edge.to)] == level_[n] + 1) {
      return out_[n][i];
    }
  }
  return std::nullopt;
}

int64_t MinCut::send(const std::vector<size_t>& path) {
  int64_t flow = kInfinite;
  for (size_t e : path) flow = std::min(flow, edges_[e].capacity);
  for (size_t e : path) {
    edges_[e].capacity -= flow;
    edges_[e ^ 1].capacity += flow;
  }
  return flow;
}

int64_t MinCut::push() {
  // From the source; no recursion, because a path may be as long as the graph.
  std::vector<size_t> path;
  int64_t total = 0;
  for (int node = kSource;;) {
    if (node == kSink) {
      total += send(path);
      const auto full = std::find_if(path.begin(), path.end(),
                                     [this](size_t e) { return edges_[e].capacity == 0; });
      node = edges_[*full ^ 1].to;
      path.erase(full, path.end());
    } else if (const auto edge = edge_up(node)) {
      path.push_back(*edge);
      node = edges_[*edge].to;
    } else if (path.empty()) {
      return total;
    } else {
      node = edges_[path.back() ^ 1].to;
      path.pop_back();
      ++next_[static_cast<size_t>(node)];
    }
  }
}

int64_t MinCut::solve() {
  int64_t total = 0;
  while (find_levels()) {
    next_.assign(out_.size(), 0);
    total += push();
  }
  return total;
}

}  // namespace lazyrt
