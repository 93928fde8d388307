#include "host_tracer/dynamic/ranges.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace lazyrt {
namespace {

constexpr size_t kMostRanges = 16;
constexpr size_t kMostAsked = 800;  ///< paths
constexpr int64_t kMostEven = 512;  ///< probes at even distances
constexpr size_t kMostLines = 6;
/// How many numbers at the distance of a named island are tried.
constexpr size_t kMostBeside = 16;

class Finder {
 public:
  Finder(const std::vector<DimSymbol>& symbols, const std::vector<int64_t>& named,
         const PathAt& path_at)
      : symbols_(symbols),
        named_(named.begin(), named.end()),
        path_at_(path_at),
        probes_(symbols.size()),
        cuts_(symbols.size()) {
    add_line(fit_points(symbols)[0]);
    for (size_t i = 0; i < symbols.size(); ++i) {
      probes_[i] = {0, symbols[i].count() - 1};
      add_probe(i, lines_[0].at[i]);
    }
    for (const SizePoint& point : fit_points(symbols)) add_probes(point);
  }

  Outcome<PathRanges> find(const std::vector<SizePoint>& seen) {
    for (;;) {
      for (const Line& line : lines_) LAZYRT_TRY(cut_along(line));
      if (gave_up()) return none(text_of_giving_up());
      auto odd = find_unexplained(seen);
      if (!odd.ok()) return odd.failure();
      const size_t before = probe_count();
      if (!odd->empty()) {
        add_probes(*odd);
        // Between two probes with the same path there is no cut until a point with another path is
        // added as a probe.
        if (probe_count() == before) add_probes(beside_odd_);
        const bool is_new = symbols_.size() > 1 && lines_.size() <= kMostLines && add_line(*odd);
        if (probe_count() == before && !is_new) return none(text_of_odd(*odd));
        continue;
      }
      for (Line& line : lines_) look_between(&line);
      if (unsure_) return none(text_of_islands());
      if (probe_count() != before) continue;
      // If ranges depend on several symbols together, which single lines do not show, they have
      // corners.
      const auto corners = lines_.size() > 1 ? try_corners() : Outcome<Done>(Done{});
      if (!corners.ok()) return corners.failure();
      if (gave_up()) return none(text_of_giving_up());
      odd = find_unexplained({});
      if (!odd.ok()) return odd.failure();
      if (odd->empty()) return ranges();
      if (lines_.size() > kMostLines || !add_line(*odd)) return none(text_of_odd(*odd));
    }
  }

 private:
  /// A line along each symbol, while the others stay as at a point.
  struct Line {
    SizePoint at;
    /// Per symbol: probes in addition to those of all lines.
    std::vector<std::set<int64_t>> between;
  };

  /// Whether it is new.
  bool add_line(const SizePoint& at) {
    for (const Line& line : lines_) {
      if (line.at == at) return false;
    }
    lines_.push_back({at, std::vector<std::set<int64_t>>(symbols_.size())});
    return true;
  }

  void add_probe(size_t symbol, int64_t size) {
    probes_[symbol].insert((size - symbols_[symbol].min) / symbols_[symbol].multiple);
  }
  void add_probes(const SizePoint& point) {
    for (size_t i = 0; i < point.size(); ++i) add_probe(i, point[i]);
  }
  size_t probe_count() const {
    size_t count = 0;
    for (const auto& probes : probes_) count += probes.size();
    for (const Line& line : lines_) {
      for (const auto& probes : line.between) count += probes.size();
    }
    return count;
  }
  size_t range_count() const {
    size_t count = 1;
    for (const auto& cuts : cuts_) count = std::min(count * (cuts.size() + 1), kMostRanges + 1);
    return count;
  }
  bool gave_up() const { return range_count() > kMostRanges || paths_.size() > kMostAsked; }

  static PathRanges none(std::string why) { return {{}, std::move(why)}; }
  std::string text_of_giving_up() const {
    if (paths_.size() > kMostAsked)
      return "it was tried at " + std::to_string(paths_.size()) +
             " sizes, and there are further differences";
    std::string many = "there are more than " + std::to_string(kMostRanges) +
                       " ranges of sizes that differ from their neighbours";
    if (lines_.size() == 1) return many;
    return many + ": its path depends on several sizes together, such as on which one is larger";
  }
  std::string text_of_odd(const SizePoint& odd) const {
    const std::string at = DynamicShapes{symbols_, {}}.text(odd);
    if (symbols_.size() == 1)
      return "what it does at " + at + " is not what it does at the neighbouring sizes";
    return "its path depends on several sizes together, as at " + at;
  }
  static std::string text_of_islands() {
    return "it takes the same path again in ranges of sizes so short that others may lie between "
           "them";
  }

  Outcome<SizePath> path_of(const SizePoint& point) {
    const auto known = paths_.find(point);
    if (known != paths_.end()) return known->second;
    auto path = path_at_(point);
    if (path.ok()) paths_.emplace(point, *path);
    return path;
  }

  Outcome<SizePath> path_along(const Line& line, size_t symbol, int64_t nth) {
    SizePoint point = line.at;
    point[symbol] = symbols_[symbol].nth(nth);
    return path_of(point);
  }

  Outcome<Done> cut_along(const Line& line) {
    for (size_t i = 0; i < symbols_.size(); ++i) {
      std::set<int64_t> all = probes_[i];
      all.insert(line.between[i].begin(), line.between[i].end());
      const std::vector<int64_t> probes(all.begin(), all.end());
      for (size_t k = 1; k < probes.size(); ++k) LAZYRT_TRY(cut(line, i, probes[k - 1], probes[k]));
    }
    return Done{};
  }

  Outcome<Done> cut(const Line& line, size_t symbol, int64_t low, int64_t high) {
    if (gave_up()) return Done{};
    const auto a = path_along(line, symbol, low);
    if (!a.ok()) return a.failure();
    const auto b = path_along(line, symbol, high);
    if (!b.ok()) return b.failure();
    if (*a == *b) return Done{};
    if (high == low + 1) {
      cuts_[symbol].insert(high);
      return Done{};
    }
    const int64_t middle = low + (high - low) / 2;
    LAZYRT_TRY(cut(line, symbol, low, middle));
    return cut(line, symbol, middle, high);
  }

  /// If the same path occurs again after another one, there may be more such islands: adds probes
  /// for the symbol as close to each other as its smallest island is wide.
  void look_between(Line* line) {
    for (size_t i = 0; i < symbols_.size(); ++i) {
      const int64_t width = smallest_island(*line, i), count = symbols_[i].count();
      if (width == 0) continue;
      unsure_ = unsure_ || count / width > kMostEven;
      for (int64_t nth = 0; !unsure_ && nth < count; nth += width) line->between[i].insert(nth);
    }
  }

  /// The width of the smallest range of one path between two ranges of another; 0: there is none.
  /// Islands too small to probe for are left out if the program names their ends.
  int64_t smallest_island(const Line& line, size_t symbol) {
    std::set<int64_t> all = cuts_[symbol];
    all.insert(0);
    std::vector<int64_t> begins;
    int64_t smallest = 0;
    std::map<SizePath, size_t> last;  // where the path was seen last
    for (const int64_t begin : all) {
      SizePoint point = line.at;
      point[symbol] = symbols_[symbol].nth(begin);
      const auto known = paths_.find(point);
      if (known == paths_.end()) continue;  // a cut of another line
      const SizePath& path = known->second;
      const size_t i = begins.size();
      begins.push_back(begin);
      const auto before = last.find(path);
      for (size_t k = before == last.end() ? i : before->second + 1; k < i; ++k) {
        const int64_t width = begins[k + 1] - begins[k];
        if (symbols_[symbol].count() / width > kMostEven &&
            look_beside(symbol, begins[k], begins[k + 1]))
          continue;
        smallest = smallest == 0 ? width : std::min(smallest, width);
      }
      last[path] = i;
    }
    return smallest;
  }

  /// Whether the program names both ends of an island (`n == 16000`, `256 <= n < 258`). Then the
  /// island is taken for the only one of its kind unless there is another at its multiples, or as
  /// far from it as another of the program's numbers says (`n % 32000 == 16000`): these sizes get
  /// probes, and an island found there has no name.
  bool look_beside(size_t symbol, int64_t begin, int64_t end) {
    const DimSymbol& of = symbols_[symbol];
    const int64_t first = of.nth(begin), last = of.nth(end - 1);
    const auto is_named = [&](int64_t one, int64_t other) {
      return named_.count(one) > 0 || named_.count(other) > 0;
    };
    if (!is_named(first, first - of.multiple) || !is_named(last, last + of.multiple)) return false;
    std::set<int64_t> sizes = {2 * first, 3 * first, first / 2};
    size_t beside = 0;
    for (auto it = named_.rbegin(); it != named_.rend() && beside < kMostBeside; ++it) {
      if (*it < 2 || *it > of.max) continue;
      ++beside;
      sizes.insert({first + *it, first - *it});
    }
    for (const int64_t size : sizes) {
      if (of.holds(size)) add_probe(symbol, size);
    }
    return true;
  }

  /// For each symbol: how many of its cuts lie at or below the point.
  std::vector<size_t> range_of(const SizePoint& point) const {
    std::vector<size_t> range;
    for (size_t i = 0; i < point.size(); ++i) {
      const int64_t nth = (point[i] - symbols_[i].min) / symbols_[i].multiple;
      const auto& cuts = cuts_[i];
      range.push_back(static_cast<size_t>(std::distance(cuts.begin(), cuts.upper_bound(nth))));
    }
    return range;
  }

  /// Finds a point whose path differs from that of another point in its range, which becomes
  /// beside_odd_; empty: there is none.
  Outcome<SizePoint> find_unexplained(const std::vector<SizePoint>& seen) {
    std::map<std::vector<size_t>, std::pair<SizePath, SizePoint>> of_range;
    const auto is_odd = [&](const SizePoint& point, const SizePath& path) {
      const auto [known, is_new] = of_range.try_emplace(range_of(point), path, point);
      beside_odd_ = known->second.second;
      return known->second.first != path;
    };
    for (const auto& [point, path] : paths_) {
      if (is_odd(point, path)) return point;
    }
    for (const SizePoint& point : seen) {
      auto path = path_of(point);
      if (!path.ok()) return path.failure();
      if (is_odd(point, *path)) return point;
    }
    return SizePoint();
  }

  /// Asks for the path at all corners of all ranges.
  Outcome<Done> try_corners() {
    for (const auto& range : products()) {
      const size_t corners = size_t{1} << std::min<size_t>(range.size(), 4);
      for (size_t corner = 0; corner < corners && !gave_up(); ++corner) {
        SizePoint point;
        for (size_t i = 0; i < range.size(); ++i)
          point.push_back((corner >> std::min<size_t>(i, 3) & 1) != 0 ? range[i].max
                                                                      : range[i].min);
        const auto path = path_of(point);
        if (!path.ok()) return path.failure();
      }
    }
    return Done{};
  }

  PathRanges ranges() const { return {merged(products()), ""}; }

  std::vector<std::vector<DimSymbol>> products() const {
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

  /// Merges ranges of one path that are neighbours along a symbol, as long as there are any.
  std::vector<std::vector<DimSymbol>> merged(std::vector<std::vector<DimSymbol>> all) const {
    std::map<std::vector<size_t>, const SizePath*> of_range;
    for (const auto& [point, path] : paths_) of_range.emplace(range_of(point), &path);
    std::vector<const SizePath*> paths;
    for (const auto& range : all) {
      SizePoint first;
      for (const DimSymbol& symbol : range) first.push_back(symbol.min);
      const auto known = of_range.find(range_of(first));
      paths.push_back(known == of_range.end() ? nullptr : known->second);
    }
    for (size_t a = 0; a < all.size(); ++a) {
      for (size_t b = a + 1; b < all.size(); ++b) {
        const bool same = paths[a] != nullptr && paths[b] != nullptr && *paths[a] == *paths[b];
        if (!same || !join(&all[a], all[b])) continue;
        all.erase(all.begin() + static_cast<ptrdiff_t>(b));
        paths.erase(paths.begin() + static_cast<ptrdiff_t>(b));
        b = a;  // what is larger may have other neighbours
      }
    }
    return all;
  }

  /// Whether the other range is the next one along one symbol, and the same along all others.
  static bool join(std::vector<DimSymbol>* range, const std::vector<DimSymbol>& other) {
    std::optional<size_t> apart;
    for (size_t i = 0; i < range->size(); ++i) {
      if ((*range)[i] == other[i]) continue;
      if (apart) return false;
      apart = i;
    }
    if (!apart) return false;
    DimSymbol& mine = (*range)[*apart];
    const DimSymbol& next = other[*apart];
    if (mine.max + mine.multiple != next.min && next.max + mine.multiple != mine.min) return false;
    mine.min = std::min(mine.min, next.min);
    mine.max = std::max(mine.max, next.max);
    return true;
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
  const std::set<int64_t> named_;
  const PathAt& path_at_;
  std::vector<Line> lines_;                ///< through the base, then through odd points
  std::vector<std::set<int64_t>> probes_;  ///< by symbol: which of its sizes are asked for
  std::vector<std::set<int64_t>> cuts_;  ///< by symbol: the first of its sizes in each later range
  std::map<SizePoint, SizePath> paths_;
  SizePoint beside_odd_;
  bool unsure_ = false;  ///< there may be islands that no probe can find
};

}  // namespace

Outcome<PathRanges> find_ranges(const std::vector<DimSymbol>& symbols,
                                const std::vector<SizePoint>& seen,
                                const std::vector<int64_t>& named, const PathAt& path_at) {
  auto found = Finder(symbols, named, path_at).find(seen);
  if (found.ok() && found->ranges.size() == 1) found->ranges.clear();
  return found;
}

}  // namespace lazyrt
