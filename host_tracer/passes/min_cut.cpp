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

int64_t MinCut::push(int node, int64_t limit) {
  if (node == kSink) return limit;
  const auto n = static_cast<size_t>(node);
  int64_t pushed = 0;
  for (size_t& i = next_[n]; i < out_[n].size() && pushed < limit; ++i) {
    const size_t e = out_[n][i];
    if (level_[static_cast<size_t>(edges_[e].to)] != level_[n] + 1) continue;
    const int64_t flow = push(edges_[e].to, std::min(limit - pushed, edges_[e].capacity));
    edges_[e].capacity -= flow;
    edges_[e ^ 1].capacity += flow;
    pushed += flow;
    if (pushed == limit) break;
  }
  return pushed;
}

int64_t MinCut::solve() {
  int64_t total = 0;
  while (find_levels()) {
    next_.assign(out_.size(), 0);
    total += push(kSource, kInfinite);
  }
  return total;
}

}  // namespace lazyrt
