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

TEST(SweepPoints, TriesAllSizesOfAShortRange) {
  auto points = sweep_points(shapes_of({{"n", 4, 40, 4}}), {8}, {}, 40);
  std::sort(points.begin(), points.end());
  std::vector<SizePoint> all;
  for (int64_t n = 4; n <= 40; n += 4) all.push_back({n});
  EXPECT_EQ(points, all);
}

TEST(SweepPoints, BeginsWithTheNumbersOfEachGroup) {
  const auto points =
      sweep_points(shapes_of({{"n", 500, 100000, 1}}), {8000}, {{16000, 7}, {700}}, 12);
  ASSERT_EQ(points.size(), 12u);
  EXPECT_EQ(points[0], SizePoint{16000});
  EXPECT_EQ(points[2], SizePoint{16001});
  EXPECT_EQ(points[4], SizePoint{15999});
  EXPECT_EQ(points[6], SizePoint{700});
}

TEST(SweepPoints, SolvesExtentsThatFollowFromASymbol) {
  DynamicShapes shapes = shapes_of({{"n", 1, 100000, 1}});
  shapes.dims = {{DimExtent(0, 2, 1)}};
  EXPECT_EQ(sweep_points(shapes, {5}, {{20001}}, 8)[0], SizePoint{10000});
}

TEST(SweepPoints, TriesEachSymbolAloneAndAllTogether) {
  const auto points = sweep_points(shapes_of({{"a", 1, 800, 1}, {"b", 1, 900, 1}}), {8, 8}, {}, 30);
  const auto is_alone = [&](size_t i) {
    return [i](const SizePoint& point) { return point[i] != 8 && point[1 - i] == 8; };
  };
  EXPECT_TRUE(std::any_of(points.begin(), points.end(), is_alone(0)));
  EXPECT_TRUE(std::any_of(points.begin(), points.end(), is_alone(1)));
  EXPECT_TRUE(std::any_of(points.begin(), points.end(),
                          [](const SizePoint& point) { return point[0] != 8 && point[1] != 8; }));
  EXPECT_EQ(std::set<SizePoint>(points.begin(), points.end()).size(), 30u);
}

TEST(SweepPoints, AreTheSameEachTime) {
  const auto shapes = shapes_of({{"n", 1, 100000, 1}});
  EXPECT_EQ(sweep_points(shapes, {8}, {{5}}, 20), sweep_points(shapes, {8}, {{5}}, 20));
}

}  // namespace
}  // namespace lazyrt
