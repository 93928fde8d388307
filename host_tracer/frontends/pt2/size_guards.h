#pragma once

// Guards of a .pt2 on the sizes of its inputs: "L['x'].size()[0] % 2 == 0". Free of LibTorch.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace lazyrt {

/// The size of a dim of an input by its name in the graph ("x", "pair_0"); nothing: there is none.
using SizeOf = std::function<std::optional<int64_t>(const std::string& input, int64_t dim)>;

/// Whether a guard, a Python expression of sizes and whole numbers, holds. Nothing where it is more
/// than sums, products, //, %, Max, Min, comparisons, and, or, not, or a number overflows.
std::optional<bool> guard_holds(const std::string& guard, const SizeOf& size_of);

}  // namespace lazyrt
