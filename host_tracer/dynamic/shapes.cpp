#include "host_tracer/dynamic/shapes.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace lazyrt {
namespace {

constexpr int64_t kFewSizes = 7;

/// Sizes of a symbol at which to capture, ascending, the largest included. Different symbols begin
/// at different sizes, so that no two are equal at the base.
std::vector<int64_t> levels(const DimSymbol& symbol, size_t index) {
  std::vector<int64_t> list;
  int64_t first = 0;
  while (first + 2 < symbol.count() && symbol.nth(first) < 2) ++first;
  if (symbol.count() - first <= kFewSizes) {
    for (int64_t i = first; i < symbol.count(); ++i) list.push_back(symbol.nth(i));
    return list;
  }
  const int64_t begin = std::min(first + 1 + 3 * static_cast<int64_t>(index), symbol.count() - 5);
  for (int64_t i = begin; i < begin + 4; ++i) list.push_back(symbol.nth(i));
  list.push_back(symbol.nth((begin + (symbol.count() - begin) * 2 / 5) | 1));
  list.push_back(symbol.max);
  list.erase(std::unique(list.begin(), list.end()), list.end());
  return list;
}

/// The size of a symbol where others vary.
int64_t base_of(const std::vector<int64_t>& sizes, size_t index) {
  const size_t at = index % 2 == 0 && sizes[0] > 1 ? 0 : 1;
  return sizes[std::min(at, sizes.size() - 1)];
}

/// A size for two symbols that vary together, far from the base, because near it steps look the
/// same.
int64_t far_of(const std::vector<int64_t>& sizes, int64_t base) {
  if (sizes.size() > 2) return sizes[sizes.size() - 2];
  return sizes[0] == base ? sizes.back() : sizes[0];
}

/// The first size from `begin` on that both symbols may have, or else the first of all.
std::optional<int64_t> common_size(const DimSymbol& a, const DimSymbol& b, int64_t begin) {
  const int64_t step = std::lcm(a.multiple, b.multiple);
  for (const int64_t from : {begin, int64_t{1}}) {
    const int64_t least = std::max({a.min, b.min, from});
    const int64_t size = (least + step - 1) / step * step;
    if (a.holds(size) && b.holds(size)) return size;
  }
  return std::nullopt;
}

void add(std::vector<SizePoint>* points, const SizePoint& point) {
  if (!contains(*points, point)) points->push_back(point);
}

}  // namespace

std::string DimSymbol::text() const {
  const std::string steps = multiple > 1 ? ", a multiple of " + std::to_string(multiple) : "";
  return name + ": " + std::to_string(min) + " to " + std::to_string(max) + steps;
}

int64_t drawn(const DimSymbol& symbol, std::mt19937_64& random) {
  return symbol.nth(static_cast<int64_t>(random() % static_cast<uint64_t>(symbol.count())));
}

std::vector<SizePoint> fit_points(const std::vector<DimSymbol>& symbols) {
  std::vector<std::vector<int64_t>> all;
  SizePoint base, largest;
  for (size_t i = 0; i < symbols.size(); ++i) {
    all.push_back(levels(symbols[i], i));
    base.push_back(base_of(all[i], i));
    largest.push_back(symbols[i].max);
  }
  std::vector<SizePoint> points = {base};
  for (size_t i = 0; i < symbols.size(); ++i) {
    for (const int64_t size : all[i]) {
      SizePoint point = base;
      point[i] = size;
      add(&points, point);
    }
  }
  // Pairs are enough to see which symbols meet in a product.
  for (size_t i = 0; i < symbols.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      SizePoint point = base;
      for (const size_t k : {i, j}) point[k] = far_of(all[k], base[k]);
      add(&points, point);
    }
  }
  points.erase(std::remove(points.begin(), points.end(), largest), points.end());
  points.push_back(largest);
  return points;
}

std::vector<SizePoint> check_points(const std::vector<DimSymbol>& symbols, size_t count,
                                    uint64_t seed) {
  std::vector<SizePoint> points;
  SizePoint smallest, largest;
  for (const DimSymbol& symbol : symbols) {
    smallest.push_back(symbol.min);
    largest.push_back(symbol.max);
  }
  add(&points, smallest);
  add(&points, largest);
  // Where one symbol is 1, or two are the same, programs and rules may do otherwise.
  const SizePoint base = fit_points(symbols)[0];
  for (size_t i = 0; i < symbols.size(); ++i) {
    SizePoint point = base;
    point[i] = symbols[i].min;
    add(&points, point);
    for (size_t j = 0; j < i; ++j) {
      const auto size = common_size(symbols[i], symbols[j], std::max(base[i], base[j]));
      if (!size) continue;
      point = base;
      point[i] = point[j] = *size;
      add(&points, point);
    }
  }
  std::mt19937_64 random(seed);
  for (size_t k = 0; k < count; ++k) {
    SizePoint point;
    for (const DimSymbol& symbol : symbols) {
      point.push_back(drawn(symbol, random));
    }
    add(&points, point);
  }
  return points;
}

std::vector<SizePoint> more_points(const std::vector<DimSymbol>& symbols, size_t count,
                                   uint64_t seed) {
  std::mt19937_64 random(seed);
  const SizePoint base = fit_points(symbols)[0];
  std::vector<SizePoint> points;
  for (size_t k = 0; k < 4 * count && points.size() < count; ++k) {
    const size_t turn = k % (symbols.size() + 1);  // a symbol alone, then all of them
    SizePoint point = base;
    for (size_t i = 0; i < symbols.size(); ++i) {
      if (turn == i || turn == symbols.size()) point[i] = drawn(symbols[i], random);
    }
    if (std::find(point.begin(), point.end(), 1) == point.end()) add(&points, point);
  }
  return points;
}

}  // namespace lazyrt
