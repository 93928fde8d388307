// Where a program's path changes with its sizes.

#include "host_tracer/dynamic/ranges.h"

#include <gtest/gtest.h>

#include <set>

namespace lazyrt {
namespace {

const std::vector<DimSymbol> kBatchAndSeq = {{"batch", 1, 8, 1}, {"seq", 1, 512, 1}};

struct Found {
  std::vector<std::string> ranges;
  size_t asked = 0;
  std::string why_none;
};

/// The ranges of a program of these symbols, that takes path(point), as text.
Found found(const std::vector<DimSymbol>& symbols,
            const std::function<int64_t(const SizePoint&)>& path,
            const std::vector<SizePoint>& seen = {}, const std::vector<int64_t>& named = {}) {
  std::set<SizePoint> asked;
  const auto ranges =
      find_ranges(symbols, seen, named, [&](const SizePoint& point) -> Outcome<SizePath> {
        EXPECT_TRUE(asked.insert(point).second) << "asked for twice";
        return SizePath{path(point)};
      });
  EXPECT_TRUE(ranges.ok());
  Found result;
  result.asked = asked.size();
  result.why_none = ranges->why_none;
  for (const auto& range : ranges->ranges) {
    std::string text;
    for (const DimSymbol& symbol : range) text += (text.empty() ? "" : "; ") + symbol.text();
    result.ranges.push_back(text);
  }
  return result;
}

using Texts = std::vector<std::string>;

TEST(Ranges, AreCutWhereThePathChanges) {
  const auto one = found({{"n", 1, 512, 1}}, [](const SizePoint& p) { return p[0] > 128; });
  EXPECT_EQ(one.ranges, (Texts{"n: 1 to 128", "n: 129 to 512"}));
  EXPECT_LE(one.asked, 20u);
  const auto three = found({{"n", 1, 512, 1}},
                           [](const SizePoint& p) { return (p[0] > 1) + (p[0] >= 300 ? 1 : 0); });
  EXPECT_EQ(three.ranges, (Texts{"n: 1 to 1", "n: 2 to 299", "n: 300 to 512"}));
  const auto steps = found({{"h", 64, 512, 32}}, [](const SizePoint& p) { return p[0] < 224; });
  EXPECT_EQ(steps.ranges,
            (Texts{"h: 64 to 192, a multiple of 32", "h: 224 to 512, a multiple of 32"}));
}

TEST(Ranges, OfSeveralSymbolsAreTheirProducts) {
  const auto one = found(kBatchAndSeq, [](const SizePoint& p) { return p[1] > 100; });
  EXPECT_EQ(one.ranges, (Texts{"batch: 1 to 8; seq: 1 to 100", "batch: 1 to 8; seq: 101 to 512"}));
  const auto both = found(
      kBatchAndSeq, [](const SizePoint& p) { return (p[0] == 1 ? 2 : 0) + (p[1] > 100 ? 1 : 0); });
  EXPECT_EQ(both.ranges, (Texts{"batch: 1 to 1; seq: 1 to 100", "batch: 1 to 1; seq: 101 to 512",
                                "batch: 2 to 8; seq: 1 to 100", "batch: 2 to 8; seq: 101 to 512"}));
}

TEST(Ranges, OfTwoSizesTogetherAreFoundByWhatWasSeen) {
  const auto corner = [](const SizePoint& p) { return p[0] == 1 && p[1] > 150 && p[1] <= 151; };
  EXPECT_TRUE(found(kBatchAndSeq, corner).ranges.empty());
  const auto seen = found(kBatchAndSeq, corner, {{1, 151}});
  EXPECT_EQ(seen.ranges,
            (Texts{"batch: 1 to 8; seq: 1 to 150", "batch: 1 to 1; seq: 151 to 151",
                   "batch: 1 to 8; seq: 152 to 512", "batch: 2 to 8; seq: 151 to 151"}));
  const auto large = [](const SizePoint& p) { return p[0] > 4 && p[1] > 300; };
  EXPECT_EQ(found(kBatchAndSeq, large, {{8, 512}}).ranges,
            (Texts{"batch: 1 to 4; seq: 1 to 512", "batch: 5 to 8; seq: 1 to 300",
                   "batch: 5 to 8; seq: 301 to 512"}));
}

TEST(Ranges, APathBetweenThoseAskedForIsFoundByWhatWasSeen) {
  const auto middle = [](const SizePoint& p) { return p[0] >= 300 && p[0] <= 310; };
  EXPECT_TRUE(found({{"n", 1, 512, 1}}, middle).ranges.empty());
  EXPECT_EQ(found({{"n", 1, 512, 1}}, middle, {{305}}).ranges,
            (Texts{"n: 1 to 299", "n: 300 to 310", "n: 311 to 512"}));
}

TEST(Ranges, OneIslandMakesOthersLikely) {
  const auto tens = [](const SizePoint& p) { return p[0] % 100 == 0; };
  const auto all = found({{"n", 1, 400, 1}}, tens, {{200}});
  EXPECT_EQ(all.ranges.size(), 8u);
  EXPECT_EQ(all.ranges[0], "n: 1 to 99");
  EXPECT_EQ(all.ranges[7], "n: 400 to 400");
  const auto too_many = found({{"n", 1, 4000, 1}}, tens, {{200}});
  EXPECT_TRUE(too_many.ranges.empty()) << "it cannot be said where the others are";
  EXPECT_NE(too_many.why_none.find("others may lie between them"), std::string::npos);
  EXPECT_LE(too_many.asked, 60u);
}

TEST(Ranges, AnIslandThatTheProgramNamesIsTheOnlyOne) {
  const std::vector<DimSymbol> samples = {{"n", 1, 160000, 1}};
  const auto one = [](const SizePoint& p) { return p[0] == 16000; };
  EXPECT_TRUE(found(samples, one, {{16000}}).ranges.empty());
  const auto named = found(samples, one, {{16000}}, {1, 3, 512, 16000});
  EXPECT_EQ(named.ranges, (Texts{"n: 1 to 15999", "n: 16000 to 16000", "n: 16001 to 160000"}));
  EXPECT_LE(named.asked, 80u);
  const auto band = [](const SizePoint& p) { return p[0] >= 16000 && p[0] < 16002; };
  EXPECT_EQ(found(samples, band, {{16000}}, {16000, 16002}).ranges.size(), 3u);
  EXPECT_TRUE(found(samples, band, {{16000}}, {16000}).ranges.empty()) << "one end has no name";
  const auto two = [](const SizePoint& p) { return p[0] == 16000 || p[0] == 48001; };
  EXPECT_EQ(found(samples, two, {{16000}, {48001}}, {16000, 48001}).ranges.size(), 5u);
}

TEST(Ranges, AnIslandThatTheProgramNamesMayHaveOthersThatItDoesNot) {
  const std::vector<DimSymbol> samples = {{"n", 1, 160000, 1}};
  const auto multiples = [](const SizePoint& p) { return p[0] % 500 == 0; };
  EXPECT_TRUE(found(samples, multiples, {{500}}, {500}).ranges.empty());
  const auto shifted = [](const SizePoint& p) { return p[0] % 32000 == 16000; };
  EXPECT_TRUE(found(samples, shifted, {{16000}}, {16000, 32000}).ranges.empty());
  const auto later = [](const SizePoint& p) { return (p[0] - 16000) % 77000 == 0; };
  EXPECT_TRUE(found(samples, later, {{16000}}, {16000, 77000}).ranges.empty());
}

TEST(Ranges, FewSizesMayEachHaveTheirOwn) {
  const auto loops = [](const SizePoint& p) { return p[0]; };
  EXPECT_EQ(found({{"n", 1, 4, 1}}, loops).ranges,
            (Texts{"n: 1 to 1", "n: 2 to 2", "n: 3 to 3", "n: 4 to 4"}));
  const auto many = found({{"n", 1, 10000, 1}}, loops);
  EXPECT_TRUE(many.ranges.empty());
  EXPECT_NE(many.why_none.find("more than 16 ranges"), std::string::npos) << many.why_none;
  EXPECT_LE(many.asked, 140u);
}

TEST(Ranges, ThereAreNoneWhereTheyAreNoProducts) {
  EXPECT_TRUE(found(kBatchAndSeq, [](const SizePoint&) { return 1; }).ranges.empty());
  const auto wide = [](const SizePoint& p) { return 10 * p[0] > p[1]; };
  const auto none = found(kBatchAndSeq, wide, {{8, 3}, {2, 400}, {8, 70}, {7, 75}, {2, 17}});
  EXPECT_TRUE(none.ranges.empty());
  EXPECT_FALSE(none.why_none.empty());
}

TEST(Ranges, AFailureEndsTheSearch) {
  const auto ranges =
      find_ranges(kBatchAndSeq, {}, {}, [](const SizePoint& p) -> Outcome<SizePath> {
        if (p[1] > 200) return Failure{Error::kUnsupported, "too wide"};
        return SizePath{p[1]};
      });
  ASSERT_FALSE(ranges.ok());
  EXPECT_EQ(ranges.failure().text, "too wide");
}

}  // namespace
}  // namespace lazyrt
