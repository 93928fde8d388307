#include "host_tracer/passes/passes.h"

namespace lazyrt {

Outcome<size_t> eliminate_dead(Graph& graph) {
  const size_t dropped = graph.remove_dead();
  graph.compact();
  return dropped;
}

}  // namespace lazyrt
