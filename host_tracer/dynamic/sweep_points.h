#pragma once

// Sizes at which a bundle of all sizes runs beside its program, beyond those that are captured.

#include <cstdint>
#include <vector>

#include "host_tracer/dynamic/shapes.h"

namespace lazyrt {

/// Whole numbers with which a program may compare sizes, in groups, the likeliest first.
using NumberGroups = std::vector<std::vector<int64_t>>;

/// Up to `count` points to try, each once, the same ones each time. By turns: points where extents
/// are numbers that the program holds or their neighbours, a group after the other, and drawn sizes
/// of one symbol or of all.
std::vector<SizePoint> sweep_points(const DynamicShapes& shapes, const SizePoint& sample,
                                    const NumberGroups& numbers, size_t count);

}  // namespace lazyrt
