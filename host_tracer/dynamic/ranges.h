#pragma once

// Finds the ranges of sizes in which a program takes one path.

#include <functional>
#include <vector>

#include "host_tracer/dynamic/shapes.h"
#include "host_tracer/support/outcome.h"

namespace lazyrt {

/// What a program does at some sizes; equal if it does the same.
using SizePath = std::vector<int64_t>;
using PathAt = std::function<Outcome<SizePath>(const SizePoint& point)>;

struct PathRanges {
  /// The symbols with the bounds of one range each; together the ranges cover all sizes. Empty if
  /// there is only one range, or none can be found.
  std::vector<std::vector<DimSymbol>> ranges;
  std::string why_none;  ///< "the paths depend on several sizes together, as at h=5, w=9"
};

/// Each symbol is cut where the path changes along it while the others are at the base of
/// fit_points, or at a point whose path the cuts so far do not explain: found by bisection between
/// sizes of fit_points, both ends and sizes of `seen`, points whose path costs nothing to ask for.
/// Where a path comes again after another one, sizes are asked for as near to each other as the
/// smallest such island is wide; where that would be too near, an island between two of the numbers
/// `named`, which the program holds, is taken for the only one, unless others show at its multiples
/// or as far from it as one of these numbers. Neighbours that take one path are one range. There
/// are no ranges where no cuts explain the paths of all these points, where there are too many, or
/// where islands are so small that some may be missed. Fails as path_at.
Outcome<PathRanges> find_ranges(const std::vector<DimSymbol>& symbols,
                                const std::vector<SizePoint>& seen,
                                const std::vector<int64_t>& named, const PathAt& path_at);

}  // namespace lazyrt
