#pragma once

// Where each value lives while the program runs. schema/FORMAT.md, "Memory", has the rules.

#include <cstdint>
#include <vector>

#include "host_tracer/graph/graph.h"

namespace lazyrt {

struct ValuePlan {
  /// Inputs and node values: from the start of the arena, a multiple of kAlignment. Constants and
  /// states: 0.
  uint64_t offset = 0;
  uint64_t bytes = 0;           ///< without the tail
  ValueId alias_of = kNoValue;  ///< shares this earlier value's memory: a view, or in place
};

/// A piece of the arena, and the nodes during which it is in use.
struct Allocation {
  ValueId owner = kNoValue;  ///< the first value in it
  int32_t first = 0;         ///< index of the node that makes it; -1 for inputs
  int32_t last = 0;          ///< the last node that reads it; nodes().size(): it lives to the end
  uint64_t offset = 0;
  uint64_t bytes = 0;  ///< with tail, rounded up to kAlignment
};

struct MemoryPlan {
  std::vector<ValuePlan> values;  ///< by value id
  std::vector<Allocation> allocations;
  uint64_t arena_bytes = 0;
  /// The most bytes that are live at one node: no plan with these lifetimes can need less.
  uint64_t lower_bound = 0;
  size_t in_place = 0;  ///< values written over an operand
  size_t views = 0;     ///< values that are a view of their operand
};

/// Plans the arena. Inputs own their memory during the whole run, outputs and next values of states
/// from their node to the end. States are not in the arena: sessions keep them, and copy the next
/// value into them after a run that succeeds, so that one that fails leaves them alone. The same
/// graph gives the same plan. `model` is the plan of the same graph at other sizes: values share
/// memory only where they do so there, as they have to at all sizes. REQUIRES: graph.compact() was
/// called (ids in order of definition).
MemoryPlan plan_memory(const Graph& graph, const MemoryPlan* model = nullptr);

/// Bytes of an arena with room for each piece at the largest size that it has in any of these
/// plans, from its first use in any of them to its last. REQUIRES: plans of one graph at several
/// sizes, at least one.
uint64_t reserved_arena(const std::vector<MemoryPlan>& plans);

}  // namespace lazyrt
