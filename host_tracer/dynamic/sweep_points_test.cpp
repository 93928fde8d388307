#include "host_tracer/dynamic/sweep_points.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace lazyrt {
namespace {

DynamicShapes shapes_of(std::vector<DimSymbol> symbols) {
  DynamicShapes shapes;
  for (size_t i = 0; i < symbols.size(); ++i) shapes.dims.push_back({static_cast<int>(i)});
  shapes.symbols = std::move(symbols);
  return shapes;
}

bool has(const std::vector<SizePoint>& points, const SizePoint& point) {
  return std::find(points.begin(), points.end(), point) != points.end();
}

std::set<SizePoint> first(const std::vector<SizePoint>& points, size_t count) {
  return {points.begin(), points.begin() + static_cast<ptrdiff_t>(count)};
}

TEST(SweepPoints, TriesAllSizesOfAShortRange) {
  auto points = sweep_points(shapes_of({{"n", 4, 40, 4}}), {8}, {});
  std::sort(points.begin(), points.end());
  std::vector<SizePoint> all;
  for (int64_t n = 4; n <= 40; n += 4) all.push_back({n});
  EXPECT_EQ(points, all);
}

TEST(SweepPoints, BeginsWithTheNumbersOfEachGroup) {
  const auto points = sweep_points(shapes_of({{"n", 500, 100000, 1}}), {8000}, {{16000, 7}, {500}});
  EXPECT_EQ(first(points, 3), (std::set<SizePoint>{{15999}, {16000}, {16001}}));
  EXPECT_EQ((std::set<SizePoint>{points[3], points[4]}), (std::set<SizePoint>{{500}, {501}}));
}

TEST(SweepPoints, TriesAreasByTheirSides) {
  const auto shapes = shapes_of({{"h", 8, 400, 1}, {"w", 8, 400, 1}});
  EXPECT_TRUE(has(sweep_points(shapes, {32, 48}, {{209 * 221}}), {209, 221}));
}

TEST(SweepPoints, SolvesExtentsThatFollowFromASymbol) {
  DynamicShapes shapes = shapes_of({{"n", 1, 100000, 1}});
  shapes.dims = {{DimExtent(0, 2, 1)}};
  const auto points = sweep_points(shapes, {5}, {{20001}});
  EXPECT_EQ(points[0], SizePoint{10000});
}

TEST(SweepPoints, TriesProductsAndQuotientsInLongRangesOnly) {
  EXPECT_TRUE(has(sweep_points(shapes_of({{"n", 1, 100000, 1}}), {8}, {{163, 211}}), {163 * 211}));
  EXPECT_TRUE(has(sweep_points(shapes_of({{"n", 1, 100000, 1}}), {8}, {{2, 98766}}), {49383}));
  EXPECT_EQ(sweep_points(shapes_of({{"n", 1, 1024, 1}}), {8}, {{3, 5}}).size(), 1024u);
}

TEST(SweepPoints, TriesNumbersThatPeopleLike) {
  const auto points = sweep_points(shapes_of({{"n", 1, 160000, 1}}), {8000}, {});
  for (const int64_t n : {4096, 12288, 16000, 45000, 120000}) {
    EXPECT_TRUE(has(points, {n})) << n;
  }
  EXPECT_EQ(points.end() - std::find(points.begin(), points.end(), SizePoint{16000}) > 1024, true)
      << "before all others";
}

TEST(SweepPoints, TriesEachSymbolAlone) {
  const auto points = sweep_points(shapes_of({{"a", 1, 800, 1}, {"b", 1, 900, 1}}), {8, 8}, {});
  const std::set<SizePoint> found(points.begin(), points.end());
  EXPECT_EQ(found.size(), points.size());
  for (int64_t n = 1; n <= 800; ++n) EXPECT_EQ(found.count({n, 8}), 1u);
  for (int64_t n = 1; n <= 900; ++n) EXPECT_EQ(found.count({8, n}), 1u);
}

TEST(SweepPoints, LongRangesAndManyNumbersTakeNoTime) {
  std::vector<int64_t> near, far;
  for (int64_t i = -5; i < 3000; ++i) near.push_back(i);
  for (int64_t i = 0; i < 3000; ++i) far.push_back(1000000000 + i);
  const DimSymbol symbol{"n", 1, 100000000, 1};
  const auto points = sweep_points(shapes_of({symbol, symbol}), {8, 8}, {near, far});
  EXPECT_LT(points.size(), (20u + 16u) * 1024u);
}

TEST(SweepPoints, AreTheSameEachTime) {
  const auto shapes = shapes_of({{"n", 1, 100000, 1}});
  EXPECT_EQ(sweep_points(shapes, {8}, {{5}}), sweep_points(shapes, {8}, {{5}}));
}

}  // namespace
}  // namespace lazyrt
