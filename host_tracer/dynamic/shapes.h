#pragma once

// What the caller says about extents that vary.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "host_tracer/dynamic/terms.h"

namespace lazyrt {

inline bool contains(const std::vector<SizePoint>& points, const SizePoint& point) {
  return std::find(points.begin(), points.end(), point) != points.end();
}

/// A named extent: a multiple of `multiple` between min and max, which are multiples as well.
struct DimSymbol {
  std::string name;
  int64_t min = 1;
  int64_t max = 1;
  int64_t multiple = 1;

  int64_t count() const { return (max - min) / multiple + 1; }
  int64_t nth(int64_t i) const { return min + i * multiple; }
  bool operator==(const DimSymbol&) const = default;
  bool holds(int64_t size) const { return size >= min && size <= max && size % multiple == 0; }
  /// "seq: 1 to 512", "h: 160 to 288, a multiple of 32"
  std::string text() const;
};

/// Whether a point is one of theirs.
inline bool holds(const std::vector<DimSymbol>& symbols, const SizePoint& point) {
  for (size_t i = 0; i < symbols.size(); ++i) {
    if (!symbols[i].holds(point[i])) return false;
  }
  return true;
}

/// An extent of an input: factor * a symbol + offset. Without a symbol it is the sample's.
struct DimExtent {
  int symbol = -1;
  int64_t factor = 1, offset = 0;

  DimExtent() = default;
  DimExtent(int of) : symbol(of) {}  // NOLINT(google-explicit-constructor): {0, -1} of two dims
  DimExtent(int of, int64_t times, int64_t more) : symbol(of), factor(times), offset(more) {}

  bool is_plain() const { return factor == 1 && offset == 0; }
  int64_t at(const SizePoint& point) const {
    return factor * point[static_cast<size_t>(symbol)] + offset;
  }
  /// The symbol's value for this extent; nothing if there is none.
  std::optional<int64_t> solve(int64_t extent) const {
    if ((extent - offset) % factor != 0) return std::nullopt;
    return (extent - offset) / factor;
  }
  /// "2*n + 1"
  std::string text(const std::string& name) const {
    const std::string times = factor == 1 ? "" : std::to_string(factor) + "*";
    if (offset == 0) return times + name;
    return times + name + (offset < 0 ? " - " : " + ") + std::to_string(std::abs(offset));
  }
};

/// Which dims of a program's inputs vary, and together with which.
struct DynamicShapes {
  std::vector<DimSymbol> symbols;
  std::vector<std::vector<DimExtent>> dims;  ///< by input and dim

  std::vector<std::string> names() const {
    std::vector<std::string> list;
    for (const DimSymbol& symbol : symbols) list.push_back(symbol.name);
    return list;
  }
  /// "batch=3, seq=7"
  std::string text(const SizePoint& point) const {
    std::string list;
    for (size_t i = 0; i < point.size(); ++i) {
      list += (i > 0 ? ", " : "") + symbols[i].name + "=" + std::to_string(point[i]);
    }
    return list;
  }
};

/// One of the symbol's sizes.
int64_t drawn(const DimSymbol& symbol, std::mt19937_64& random);

/// Sizes at which a program is captured in order to solve for its numbers: the base, some along
/// each symbol (of a symbol with few sizes all), one for each two symbols, and the largest last.
/// They keep off 1, where programs and rules take other ways, wherever the range lets them.
std::vector<SizePoint> fit_points(const std::vector<DimSymbol>& symbols);

/// Up to `count` more sizes, drawn with `seed`, for what the others do not show.
std::vector<SizePoint> more_points(const std::vector<DimSymbol>& symbols, size_t count,
                                   uint64_t seed);

/// Sizes that are only compared with eager: both ends, each symbol at its smallest and two of them
/// the same while the others are not, and `count` more, drawn with `seed`.
std::vector<SizePoint> check_points(const std::vector<DimSymbol>& symbols, size_t count,
                                    uint64_t seed);

}  // namespace lazyrt
