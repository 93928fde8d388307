#include "host_tracer/dynamic/sweep_points.h"

#include <algorithm>
#include <random>
#include <set>

namespace lazyrt {
namespace {

class SweepPoints {
 public:
  SweepPoints(const DynamicShapes& shapes, const SizePoint& sample)
      : symbols_(shapes.symbols), sample_(sample), extents_(shapes.symbols.size()) {
    for (const auto& of_input : shapes.dims) {
      for (const DimExtent& extent : of_input) {
        if (extent.symbol >= 0) extents_[static_cast<size_t>(extent.symbol)].push_back(extent);
      }
    }
  }

  /// Adds points at which an extent is one of these numbers, then points at which it is a neighbour
  /// of one.
  void add_group(std::vector<int64_t> numbers) {
    std::shuffle(numbers.begin(), numbers.end(), random_);
    for (const int64_t beside : {0, 1, -1}) {
      for (const int64_t number : numbers) {
        for (size_t i = 0; i < symbols_.size(); ++i) {
          for (const int64_t size : sizes_by(i, number + beside)) add(with(sample_, i, size));
        }
      }
    }
  }

  std::vector<SizePoint> take(size_t count) {
    const std::vector<SizePoint> likely = std::move(found_);
    found_.clear();
    known_.clear();
    for (size_t k = 0, next = 0; k < 8 * count && found_.size() < count; ++k) {
      if (next < likely.size()) add(likely[next++]);
      if (found_.size() < count) add(another_point(k, count));
    }
    return std::move(found_);
  }

 private:
  static SizePoint with(SizePoint point, size_t symbol, int64_t size) {
    point[symbol] = size;
    return point;
  }

  void add(const SizePoint& point) {
    if (known_.insert(point).second) found_.push_back(point);
  }

  /// Sizes of a symbol by which one of its extents is the number.
  std::vector<int64_t> sizes_by(size_t symbol, int64_t number) const {
    std::vector<int64_t> sizes;
    for (const DimExtent& extent : extents_[symbol]) {
      const auto size = extent.solve(number);
      if (size && symbols_[symbol].holds(*size)) sizes.push_back(*size);
    }
    return sizes;
  }

  /// Changes one symbol alone, or all: each size in turn for a symbol with few sizes, else a drawn
  /// one.
  SizePoint another_point(size_t k, size_t count) {
    const size_t turn = k % (symbols_.size() + 1);
    SizePoint point = sample_;
    for (size_t i = 0; i < symbols_.size(); ++i) {
      if (turn != i && turn != symbols_.size()) continue;
      const DimSymbol& symbol = symbols_[i];
      const bool is_short = symbol.count() <= static_cast<int64_t>(count);
      point[i] =
          is_short ? symbol.nth(static_cast<int64_t>(k) % symbol.count()) : drawn(symbol, random_);
    }
    return point;
  }

  const std::vector<DimSymbol>& symbols_;
  const SizePoint& sample_;
  std::vector<std::vector<DimExtent>> extents_;  ///< that are made of each symbol
  std::mt19937_64 random_{1};
  std::vector<SizePoint> found_;
  std::set<SizePoint> known_;
};

}  // namespace

std::vector<SizePoint> sweep_points(const DynamicShapes& shapes, const SizePoint& sample,
                                    const NumberGroups& numbers, size_t count) {
  SweepPoints points(shapes, sample);
  for (const auto& group : numbers) points.add_group(group);
  return points.take(count);
}

}  // namespace lazyrt
