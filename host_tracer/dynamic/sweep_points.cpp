#include "host_tracer/dynamic/sweep_points.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <random>
#include <set>

namespace lazyrt {
namespace {

constexpr size_t kMostAtOnce = 1024;  ///< points for one reason
constexpr size_t kMostAreas = 64;     ///< numbers that are tried as the product of two symbols
constexpr size_t kMostFactors = 64;   ///< numbers of which products and quotients are tried
constexpr size_t kMostDrawn = 20000;  ///< points at sizes of several symbols
constexpr size_t kMostSides = 16;     ///< sizes of a symbol of which all pairs are tried

class SweepPoints {
 public:
  SweepPoints(const DynamicShapes& shapes, const SizePoint& sample)
      : symbols_(shapes.symbols), sample_(sample), extents_(shapes.symbols.size()) {
    for (const auto& of_input : shapes.dims) {
      for (const DimExtent& extent : of_input) {
        if (extent.symbol < 0) continue;
        auto& known = extents_[static_cast<size_t>(extent.symbol)];
        const bool is_new = std::none_of(known.begin(), known.end(), [&](const DimExtent& other) {
          return other.factor == extent.factor && other.offset == extent.offset;
        });
        if (is_new) known.push_back(extent);
      }
    }
    for (size_t i = 0; i < symbols_.size(); ++i) {
      if (extents_[i].empty()) extents_[i].emplace_back(static_cast<int>(i));
    }
  }

  void add_group(const std::vector<int64_t>& numbers) {
    std::set<int64_t> group;
    std::copy_if(numbers.begin(), numbers.end(), std::inserter(group, group.end()), is_size);
    add_sizes(group, {-1, 0, 1});
    for (size_t i = 0; i < symbols_.size(); ++i) {
      for (size_t j = i + 1; j < symbols_.size(); ++j) add_areas(i, j, group);
    }
  }

  void add_guesses(const std::vector<int64_t>& numbers) {
    const bool all_are_tried =
        std::all_of(symbols_.begin(), symbols_.end(),
                    [](const DimSymbol& symbol) { return symbol.count() <= int64_t{kMostAtOnce}; });
    if (all_are_tried) return;
    add_sizes(composed(numbers), {0});
    add_sizes(liked(), {0});
  }

  void add_all_sizes() {
    for (size_t i = 0; i < symbols_.size(); ++i) {
      std::vector<SizePoint> points;
      for (const int64_t size : sizes_of(symbols_[i])) points.push_back(with(i, size));
      add(std::move(points));
    }
    if (symbols_.size() < 2) return;
    std::vector<SizePoint> points;
    for (size_t k = 0; k < kMostDrawn; ++k) {
      SizePoint& point = points.emplace_back();
      for (const DimSymbol& symbol : symbols_) point.push_back(drawn(symbol, random_));
    }
    add(std::move(points), kMostDrawn);
  }

  /// Where several symbols have sizes by which extents are these numbers, in any order.
  void add_together(const NumberGroups& together) {
    if (symbols_.size() < 2) return;
    std::set<SizePoint> points;
    for (const std::vector<int64_t>& numbers : together) {
      for (const int64_t first : numbers) {
        for (const int64_t second : numbers) add_pairs({first}, {second}, &points);
      }
    }
    add({points.begin(), points.end()});
  }

  /// Where two symbols have sizes by which extents are two of the numbers.
  void add_pairs(const std::vector<int64_t>& numbers) {
    std::set<SizePoint> points;
    add_pairs(numbers, numbers, &points);
    add({points.begin(), points.end()});
  }

  std::vector<SizePoint> take() { return std::move(found_); }

 private:
  SizePoint with(size_t symbol, int64_t size) const {
    SizePoint point = sample_;
    point[symbol] = size;
    return point;
  }

  void add_pairs(const std::vector<int64_t>& ours, const std::vector<int64_t>& theirs,
                 std::set<SizePoint>* points) {
    for (size_t i = 0; i < symbols_.size(); ++i) {
      const auto mine = sizes_by(i, ours);
      for (size_t j = 0; j < symbols_.size(); ++j) {
        if (i == j) continue;
        for (const int64_t a : mine) {
          for (const int64_t b : sizes_by(j, theirs)) {
            SizePoint point = with(i, a);
            point[j] = b;
            points->insert(std::move(point));
          }
        }
      }
    }
  }

  /// Sizes of a symbol by which one of its extents is one of the numbers, the first ones.
  std::vector<int64_t> sizes_by(size_t symbol, const std::vector<int64_t>& numbers) const {
    std::vector<int64_t> sizes;
    for (const int64_t number : numbers) {
      for (const DimExtent& extent : extents_[symbol]) {
        const auto size = extent.solve(number);
        if (size && symbols_[symbol].holds(*size) && sizes.size() < kMostSides)
          sizes.push_back(*size);
      }
    }
    return sizes;
  }

  /// As many as are tried for one reason.
  void add(std::vector<SizePoint> points, size_t most = kMostAtOnce) {
    std::shuffle(points.begin(), points.end(), random_);
    if (points.size() > most) points.resize(most);
    for (SizePoint& point : points) {
      if (known_.insert(point).second) found_.push_back(std::move(point));
    }
  }

  /// Where an extent is one of the numbers, or as far beside it.
  void add_sizes(const std::set<int64_t>& numbers, std::initializer_list<int64_t> beside) {
    for (size_t i = 0; i < symbols_.size(); ++i) {
      std::set<SizePoint> points;
      for (const DimExtent& extent : extents_[i]) {
        for (const int64_t number : numbers) {
          for (const int64_t more : beside) {
            const auto size = extent.solve(number + more);
            if (size && symbols_[i].holds(*size)) points.insert(with(i, *size));
          }
        }
      }
      add({points.begin(), points.end()});
    }
  }

  void add_areas(size_t i, size_t j, const std::set<int64_t>& numbers) {
    const DimSymbol &a = symbols_[i], &b = symbols_[j];
    std::vector<int64_t> areas, some;
    for (const int64_t number : numbers) {
      const auto area = static_cast<double>(number);
      const bool is_between = static_cast<double>(a.min) * static_cast<double>(b.min) <= area &&
                              area <= static_cast<double>(a.max) * static_cast<double>(b.max);
      if (is_between) areas.push_back(number);
    }
    std::sample(areas.begin(), areas.end(), std::back_inserter(some), kMostAreas, random_);
    std::vector<SizePoint> points;
    for (const int64_t side : sizes_of(a)) {
      for (const int64_t area : some) {
        if (area % side != 0 || !b.holds(area / side)) continue;
        points.push_back(with(i, side));
        points.back()[j] = area / side;
      }
    }
    add(std::move(points));
  }

  /// All of a symbol's sizes, or some.
  std::vector<int64_t> sizes_of(const DimSymbol& symbol) {
    std::vector<int64_t> sizes;
    if (symbol.count() <= int64_t{kMostAtOnce}) {
      for (int64_t i = 0; i < symbol.count(); ++i) sizes.push_back(symbol.nth(i));
      return sizes;
    }
    std::set<int64_t> some;
    while (some.size() < kMostAtOnce) some.insert(drawn(symbol, random_));
    return {some.begin(), some.end()};
  }

  static bool is_size(int64_t number) { return number > 0 && number < int64_t{1} << 31; }

  std::set<int64_t> composed(const std::vector<int64_t>& numbers) {
    std::vector<int64_t> factors, some;
    std::copy_if(numbers.begin(), numbers.end(), std::back_inserter(factors),
                 [](int64_t number) { return number > 1 && is_size(number); });
    std::sample(factors.begin(), factors.end(), std::back_inserter(some), kMostFactors, random_);
    std::set<int64_t> found;
    for (const int64_t a : some) {
      for (const int64_t b : some) {
        found.insert(a / b);
        if (is_size(a * b)) found.insert(a * b);
      }
    }
    return found;
  }

  static std::set<int64_t> liked() {
    std::set<int64_t> found;
    for (int64_t power = 1; is_size(power); power *= 2) found.insert({power, 3 * power});
    for (int64_t power = 1; is_size(power); power *= 10) {
      for (int64_t digits = 10; digits < 100; ++digits) {
        if (digits % 10 == 0 || digits % 5 == 0 || digits < 20) found.insert(digits * power);
      }
    }
    return found;
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
                                    const NumberGroups& numbers, const NumberGroups& together) {
  SweepPoints points(shapes, sample);
  points.add_together(together);
  if (!numbers.empty()) points.add_group(numbers[0]);
  std::vector<int64_t> named;
  for (size_t i = 0; i < std::min<size_t>(numbers.size(), 2); ++i)
    named.insert(named.end(), numbers[i].begin(), numbers[i].end());
  points.add_pairs(named);
  for (size_t i = 1; i < numbers.size(); ++i) points.add_group(numbers[i]);
  points.add_guesses(numbers.empty() ? std::vector<int64_t>() : numbers[0]);
  points.add_all_sizes();
  return points.take();
}

}  // namespace lazyrt
