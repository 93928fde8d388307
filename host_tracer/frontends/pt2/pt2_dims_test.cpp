#include "host_tracer/frontends/pt2/pt2_dims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "host_tracer/frontends/pt2/size_guards.h"

namespace lazyrt {
namespace {

using ::testing::HasSubstr;

Pt2Dim file_dim(const std::string& input, int64_t dim, const std::string& expression,
                std::optional<int64_t> min, std::optional<int64_t> max) {
  Pt2Dim result;
  result.input = input;
  result.dim = dim;
  read_expression(expression, &result);
  result.min = min;
  result.max = max;
  return result;
}

std::string refusal(const std::vector<Pt2Dim>& file, const std::vector<DynamicDim>& given = {}) {
  const auto dims = dims_of_file(file, given);
  return dims.ok() ? "" : dims.failure().text;
}

TEST(Pt2Dims, SymbolsAndMultiplesKeepTheirRanges) {
  const auto dims = dims_of_file({file_dim("x", 0, "s0", 0, 8), file_dim("y", 1, "s0", 0, 8),
                                  file_dim("x", 2, "Mul(Integer(32), s1)", 5, 9)},
                                 {});
  ASSERT_TRUE(dims.ok()) << dims.failure().text;
  ASSERT_EQ(dims->size(), 3u);
  const DynamicDim &x = (*dims)[0], &y = (*dims)[1], &width = (*dims)[2];
  EXPECT_EQ(x.symbol, "x.0");
  EXPECT_EQ(y.symbol, "x.0");
  EXPECT_EQ(x.min, 1);
  EXPECT_EQ(y.max, 8);
  EXPECT_EQ(width.symbol, "x.2");
  EXPECT_EQ(width.min, 160);
  EXPECT_EQ(width.max, 288);
  EXPECT_EQ(width.multiple, 32);
}

TEST(Pt2Dims, DimsFollowFromASymbol) {
  const std::vector<Pt2Dim> file = {file_dim("x", 3, "Add(Mul(Integer(2), s0), Integer(1))", 1, 9),
                                    file_dim("x", 2, "s0", 1, 9),
                                    file_dim("y", 0, "Add(s0, Integer(-1))", 1, 9)};
  const auto dims = dims_of_file(file, {{"x", 3, "n", 5, 15}});
  ASSERT_TRUE(dims.ok()) << dims.failure().text;
  ASSERT_EQ(dims->size(), 3u);
  for (const DynamicDim& dim : *dims) {
    EXPECT_EQ(dim.symbol, "n");
    EXPECT_EQ(dim.min, 2);
    EXPECT_EQ(dim.max, 7);
  }
  EXPECT_EQ((*dims)[0].factor, 2);
  EXPECT_EQ((*dims)[0].offset, 1);
  EXPECT_EQ((*dims)[1].factor, 1);
  EXPECT_EQ((*dims)[2].offset, -1);
  EXPECT_EQ((*dims_of_file(file, {}))[0].symbol, "x.2");
  EXPECT_THAT(refusal(file, {{"x", 3, "n", 1, 99}}), HasSubstr("goes beyond"));
  EXPECT_THAT(refusal(file, {{"x", 3, "n", 3, 9, 2}}), HasSubstr("give the multiple at a dim"));
}

TEST(Pt2Dims, OtherFunctionsOfSizesAreRefusedByName) {
  for (const char* text :
       {"Mul(s0, s1)", "Add(s0, s1)", "FloorDiv(s0, Integer(2))", "Add(Integer(1), Integer(2))",
        "Mul(Integer(-2), s0)", "Mul(Integer(0), s0)", "Add(", "Add()", "Add(, )",
        "Mul(Integer(2), )", "Add(Mul(Integer(2), s0), Integer(99999999999))"}) {
    EXPECT_THAT(refusal({file_dim("y", 0, text, 1, 9)}),
                HasSubstr(std::string("input 'y', dim 0 is ") + text))
        << text;
  }
}

TEST(Pt2Dims, WithoutAnUpperBoundTheCallerGivesOneForAllPlaces) {
  const std::vector<Pt2Dim> file = {file_dim("x", 0, "s0", 2, {}), file_dim("y", 0, "s0", 2, {})};
  EXPECT_THAT(refusal(file), HasSubstr("input 'x', dim 0 has no upper bound"));
  EXPECT_THAT(refusal(file), HasSubstr("--dynamic x.0=NAME:2..MAX"));
  EXPECT_THAT(refusal(file), HasSubstr("--static"));
  const auto dims = dims_of_file(file, {{"y", 0, "batch", 2, 8}});
  ASSERT_TRUE(dims.ok()) << dims.failure().text;
  ASSERT_EQ(dims->size(), 2u);
  EXPECT_EQ((*dims)[0].symbol, "batch");
  EXPECT_EQ((*dims)[1].max, 8);
}

TEST(Pt2Dims, NumbersOfHostileFilesStayNumbers) {
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  EXPECT_THAT(refusal({file_dim("x", 0, "s0", 1, kHuge)}), HasSubstr("no upper bound"));
  EXPECT_THAT(refusal({file_dim("x", 0, "Mul(Integer(9223372036854775807), s0)", 2, 3)}),
              HasSubstr("a size that follows from another one"));
  const auto dims =
      dims_of_file({file_dim("x", 0, "Mul(Integer(2147483647), s0)", kHuge, -kHuge)}, {});
  ASSERT_TRUE(dims.ok()) << dims.failure().text;
  EXPECT_GT(*(*dims)[0].min, *(*dims)[0].max);
}

TEST(Pt2Dims, WhatTheCallerGivesStaysWithinTheFile) {
  const std::vector<Pt2Dim> file = {file_dim("x", 0, "s0", 2, 8), file_dim("y", 0, "s0", 2, 8)};
  EXPECT_THAT(refusal(file, {{"x", 0, "batch", 1, 8}}), HasSubstr("2 to 8"));
  EXPECT_THAT(refusal(file, {{"x", 0, "batch", 2, 9}}), HasSubstr("'batch' (input 'x', dim 0)"));
  EXPECT_THAT(refusal(file, {{"x", 1, "width", 2, 8}}), HasSubstr("input 'x', dim 1 is fixed"));
  EXPECT_THAT(refusal(file, {{"x", 0, "a", 2, 8}, {"y", 0, "b", 2, 8}}),
              HasSubstr("'a' and 'b' are one size"));
  EXPECT_EQ(refusal(file, {{"x", 0, "batch", 3, 4}}), "");
}

TEST(SizeGuards, PythonOnSizes) {
  const SizeOf size_of = [](const std::string& input, int64_t dim) -> std::optional<int64_t> {
    if (input == "x") return dim == 0 ? 6 : 4;
    if (input == "pair_0" && dim == 1) return 7;
    return std::nullopt;
  };
  const auto holds = [&](const std::string& guard) { return guard_holds(guard, size_of); };
  EXPECT_EQ(holds("((L['x'].size()[1]*L['x'].size()[0]) % 2) == 0"), true);
  EXPECT_EQ(holds("L['pair'][0].size()[1] == 1 + L['x'].size()[0]"), true);
  EXPECT_EQ(holds("L['x'].size()[0] < L['x'].size()[1]"), false);
  EXPECT_EQ(holds("-7 // 2 == -4 and not 2 - 1 - 1 != 0"), true);
  EXPECT_EQ(holds("Max(1, L['x'].size()[0]) > 5 or 1 == 2"), true);
  EXPECT_EQ(holds("Min(1, 2, 3) >= 2"), false);
  for (const char* unknown :
       {"", "L['z'].size()[0] == 1", "L['x'].size()[0] ** 2 == 36", "L['x'].stride()[0] == 1",
        "6 % 0 == 0", "f(1) == 1", "1 == 1 )", "9223372036854775807 + 1 > 0", "L['x'"}) {
    EXPECT_EQ(holds(unknown), std::nullopt) << unknown;
  }
  EXPECT_EQ(holds(std::string(1000000, '(')), std::nullopt);
  EXPECT_EQ(holds(std::string(1000000, '-')), std::nullopt);
}

}  // namespace
}  // namespace lazyrt
