#pragma once

// Sizes at which a bundle of all sizes runs beside its program, beyond those that are captured.

#include <cstdint>
#include <vector>

#include "host_tracer/dynamic/shapes.h"

namespace lazyrt {

/// Whole numbers with which a program may compare sizes, in groups, the likeliest first.
using NumberGroups = std::vector<std::vector<int64_t>>;

/// Points to try, each once, in this order: where an extent is one of a group's numbers or beside
/// it, and where the product of two symbols is one, for each group in turn; where symbols have more
/// sizes than are tried, also where an extent is the product or quotient of two numbers of the
/// first group, or a number that people like (2^k, 3 * 2^k, round in decimals); then all sizes of
/// each symbol, the others being the sample's, and sizes of all symbols that are drawn. Of what one
/// of these gives for a symbol, 1024 points at most, by chance, but the same ones each time; of the
/// last, 20,000. Before all these, where extents of several symbols are numbers of one of
/// `together`, in any order; behind the first group, where they are two of the first two groups.
std::vector<SizePoint> sweep_points(const DynamicShapes& shapes, const SizePoint& sample,
                                    const NumberGroups& numbers, const NumberGroups& together = {});

}  // namespace lazyrt
