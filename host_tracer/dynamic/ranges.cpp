#include "host_tracer/dynamic/ranges.h"

#include <algorithm>
#include <map>
#include <set>

namespace lazyrt {
namespace {

constexpr size_t kMostRanges = 16;
constexpr size_t kMostAsked = 800;  ///< paths
constexpr int64_t kMostEven = 512;  ///< probes at even distances

class Finder {
 public:
  Finder(const std::vector<DimSymbol>& symbols, const PathAt& path_at)
      : symbols_(symbols),
        path_at_(path_at),
        base_(fit_points(symbols)[0]),
        probes_(symbols.size()),
        cuts_(symbols.size()) {
    for (size_t i = 0; i < symbols.size(); ++i) {
      probes_[i] = {0, symbols[i].count() - 1};
      add_probe(i, base_[i]);
    }
    for (const SizePoint& point : fit_points(symbols)) add_probes(point);
  }

  Outcome<std::vector<std::vector<DimSymbol>>> find(const std::vector<SizePoint>& seen) {
    for (;;) {
      for (size_t i = 0; i < symbols_.size(); ++i) LAZYRT_TRY(cut_along(i));
      if (gave_up()) return std::vector<std::vector<DimSymbol>>();
      auto odd = find_unexplained(seen);
      if (!odd.ok()) return odd.failure();
      const size_t before = probe_count();
      if (!odd->empty()) {
        add_probes(*odd);
        if (probe_count() == before) return std::vector<std::vector<DimSymbol>>();
        continue;
      }
      for (size_t i = 0; i < symbols_.size(); ++i) look_between(i);
      if (unsure_) return std::vector<std::vector<DimSymbol>>();
      if (probe_count() == before) return ranges();
    }
  }

 private:
  void add_probe(size_t symbol, int64_t size) {
    probes_[symbol].insert((size - symbols_[symbol].min) / symbols_[symbol].multiple);
  }
  void add_probes(const SizePoint& point) {
    for (size_t i = 0; i < point.size(); ++i) add_probe(i, point[i]);
  }
  size_t probe_count() const {
    size_t count = 0;
    for (const auto& probes : probes_) count += probes.size();
    return count;
  }
  size_t range_count() const {
    size_t count = 1;
    for (const auto& cuts : cuts_) count = std::min(count * (cuts.size() + 1), kMostRanges + 1);
    return count;
  }
  bool gave_up() const { return range_count() > kMostRanges || paths_.size() > kMostAsked; }

  Outcome<SizePath> path_of(const SizePoint& point) {
    const auto known = paths_.find(point);
    if (known != paths_.end()) return known->second;
    auto path = path_at_(point);
    if (path.ok()) paths_.emplace(point, *path);
    return path;
  }

  Outcome<SizePath> path_along(size_t symbol, int64_t nth) {
    SizePoint point = base_;
    point[symbol] = symbols_[symbol].nth(nth);
    return path_of(point);
  }

  Outcome<Done> cut_along(size_t symbol) {
    const std::vector<int64_t> probes(probes_[symbol].begin(), probes_[symbol].end());
    for (size_t k = 1; k < probes.size(); ++k) LAZYRT_TRY(cut(symbol, probes[k - 1], probes[k]));
    return Done{};
  }

  Outcome<Done> cut(size_t symbol, int64_t low, int64_t high) {
    if (gave_up()) return Done{};
    const auto a = path_along(symbol, low);
    if (!a.ok()) return a.failure();
    const auto b = path_along(symbol, high);
    if (!b.ok()) return b.failure();
    if (*a == *b) return Done{};
    if (high == low + 1) {
      cuts_[symbol].insert(high);
      return Done{};
    }
    const int64_t middle = low + (high - low) / 2;
    LAZYRT_TRY(cut(symbol, low, middle));
    return cut(symbol, middle, high);
  }

  /// Where the same path comes again after another one, there may be more of such islands: the
  /// symbol gets probes as near to each other as its smallest island is wide.
  void look_between(size_t symbol) {
    const int64_t width = smallest_island(symbol), count = symbols_[symbol].count();
    if (width == 0) return;
    unsure_ = unsure_ || count / width > kMostEven;
    for (int64_t nth = 0; !unsure_ && nth < count; nth += width) probes_[symbol].insert(nth);
  }

  /// The width of the smallest stretch of one path between two of another; 0: there is none.
  int64_t smallest_island(size_t symbol) const {
    std::vector<int64_t> begins = {0};
    begins.insert(begins.end(), cuts_[symbol].begin(), cuts_[symbol].end());
    int64_t smallest = 0;
    std::map<SizePath, size_t> last;  // where the path was seen last
    for (size_t i = 0; i < begins.size(); ++i) {
      SizePoint point = base_;
      point[symbol] = symbols_[symbol].nth(begins[i]);
      const SizePath& path = paths_.at(point);
      const auto before = last.find(path);
      for (size_t k = before == last.end() ? i : before->second + 1; k < i; ++k) {
        const int64_t width = begins[k + 1] - begins[k];
        smallest = smallest == 0 ? width : std::min(smallest, width);
      }
      last[path] = i;
    }
    return smallest;
  }

  /// By symbol: how many of its cuts lie at or below the point.
  std::vector<size_t> range_of(const SizePoint& point) const {
    std::vector<size_t> range;
    for (size_t i = 0; i < point.size(); ++i) {
      const int64_t nth = (point[i] - symbols_[i].min) / symbols_[i].multiple;
      const auto& cuts = cuts_[i];
      range.push_back(static_cast<size_t>(std::distance(cuts.begin(), cuts.upper_bound(nth))));
    }
    return range;
  }

  /// A point whose path is not that of another one in its range; empty: there is none.
  Outcome<SizePoint> find_unexplained(const std::vector<SizePoint>& seen) {
    std::map<std::vector<size_t>, SizePath> of_range;
    for (const auto& [point, path] : paths_) {
      const auto [known, is_new] = of_range.emplace(range_of(point), path);
      if (known->second != path) return point;
    }
    for (const SizePoint& point : seen) {
      auto path = path_of(point);
      if (!path.ok()) return path.failure();
      const auto [known, is_new] = of_range.emplace(range_of(point), *path);
      if (known->second != *path) return point;
    }
    return SizePoint();
  }

  std::vector<std::vector<DimSymbol>> ranges() const {
    std::vector<std::vector<DimSymbol>> all = {{}};
    for (size_t i = 0; i < symbols_.size(); ++i) {
      std::vector<std::vector<DimSymbol>> longer;
      for (const auto& begun : all) {
        for (const DimSymbol& part : parts_of(i)) {
          longer.push_back(begun);
          longer.back().push_back(part);
        }
      }
      all = std::move(longer);
    }
    return all;
  }

  std::vector<DimSymbol> parts_of(size_t symbol) const {
    std::vector<DimSymbol> parts;
    const DimSymbol& whole = symbols_[symbol];
    int64_t begin = 0;
    const auto add = [&](int64_t end) {
      parts.push_back({whole.name, whole.nth(begin), whole.nth(end - 1), whole.multiple});
      begin = end;
    };
    for (const int64_t at : cuts_[symbol]) add(at);
    add(whole.count());
    return parts;
  }

  const std::vector<DimSymbol>& symbols_;
  const PathAt& path_at_;
  const SizePoint base_;
  std::vector<std::set<int64_t>> probes_;  ///< by symbol: which of its sizes are asked for
  std::vector<std::set<int64_t>> cuts_;  ///< by symbol: the first of its sizes in each later range
  std::map<SizePoint, SizePath> paths_;
  bool unsure_ = false;  ///< there may be islands that no probe can find
};

}  // namespace

Outcome<std::vector<std::vector<DimSymbol>>> find_ranges(const std::vector<DimSymbol>& symbols,
                                                         const std::vector<SizePoint>& seen,
                                                         const PathAt& path_at) {
  auto ranges = Finder(symbols, path_at).find(seen);
  if (ranges.ok() && ranges->size() == 1) ranges->clear();
  return ranges;
}

}  // namespace lazyrt
