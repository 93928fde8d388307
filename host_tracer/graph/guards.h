#pragma once

// What the guards of a graph mean for numbers, and which of them need not be checked.

#include <optional>
#include <string>

#include "host_tracer/graph/evaluate.h"
#include "host_tracer/graph/graph.h"

namespace lazyrt {

/// How far a floating value of this type may be from what was seen: passes and backends round
/// otherwise than eager ATen.
double guard_tolerance(DType dtype, double seen);

/// `seen` as the kind of number that a guard over a value of this dtype holds. Nothing when no
/// value of the dtype can be it (2.5 seen of an i64).
std::optional<SeenNumber> seen_of(DType dtype, const SeenNumber& seen);

/// Whether one element at `data` is what was seen. REQUIRES: seen is as seen_of gives it.
bool is_seen(DType dtype, const void* data, const SeenNumber& seen);

/// "true", "3", "0.731"
std::string seen_text(const SeenNumber& seen);

/// Drops guards whose value is a constant that is what was seen, and those that say again what an
/// earlier one says. Fails when a constant is not what was seen. Returns how many it dropped.
Outcome<size_t> settle_guards(Graph& graph);

/// Whether all guards hold for a first run on these inputs, by the reference kernels; computes what
/// the guards need only.
Outcome<bool> guards_hold(const Graph& graph, const std::vector<HostTensor>& inputs);

/// The failure that the guard's value is known and not what was seen.
Failure never_holds(const GraphGuard& guard);

}  // namespace lazyrt
