#pragma once

#include <vector>

#include "host_tracer/plan/memory_plan.h"

namespace lazyrt {

/// Gives every allocation an offset such that allocations alive at the same time do not overlap;
/// returns the bytes needed in all. Tries a few orders of placing, each into the tightest gap that
/// fits, and keeps the best. Sources: Pisarchyk and Lee, "Efficient memory management for deep
/// neural net inference", 2020 (greedy by size, greedy by breadth).
uint64_t pack(std::vector<Allocation>* allocations);

/// The most bytes alive at one node.
uint64_t peak_bytes(const std::vector<Allocation>& allocations);

}  // namespace lazyrt
