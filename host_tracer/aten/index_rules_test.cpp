// Rules of shapes and indices: import by hand-made traces, values by the reference kernels.

#include <limits>

#include "host_tracer/aten/rules_testing.h"

namespace lazyrt {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace rules_testing;

// --- shapes -------------------------------------------------------------------------------------

TEST(ViewRules, CopiesOfFunctionalization) {
  const Operand x = {{2, 3}, {1, 2, 3, 4, 5, 6}};
  EXPECT_VALUES(run_self("permute_copy", x, {{"dims", Dims{-1, 0}}}, {kF32, {3, 2}}),
                {1, 4, 2, 5, 3, 6});
  EXPECT_VALUES(run_self("slice_copy.Tensor", x,
                         {{"dim", int64_t{1}},
                          {"start", int64_t{-2}},
                          {"end", std::numeric_limits<int64_t>::max()},
                          {"step", int64_t{1}}},
                         {kF32, {2, 2}}),
                {2, 3, 5, 6});
  EXPECT_VALUES(
      run_self("select_copy.int", x, {{"dim", int64_t{0}}, {"index", int64_t{-1}}}, {kF32, {3}}),
      {4, 5, 6});
  EXPECT_VALUES(
      run_self("slice_copy.Tensor", x,
               {{"dim", int64_t{0}}, {"start", int64_t{2}}, {"end", int64_t{1}}}, {kF32, {0, 3}}),
      {});
  EXPECT_VALUES(run_self("diagonal_copy", x, {{"offset", int64_t{1}}}, {kF32, {2}}), {2, 6});
  EXPECT_VALUES(run_self("unfold_copy", {{4}, {1, 2, 3, 4}},
                         {{"dimension", int64_t{0}}, {"size", int64_t{2}}, {"step", int64_t{2}}},
                         {kF32, {2, 2}}),
                {1, 2, 3, 4});
  EXPECT_VALUES(
      run_self("as_strided_copy", x,
               {{"size", Dims{2, 2}}, {"stride", Dims{1, 3}}, {"storage_offset", int64_t{1}}},
               {kF32, {2, 2}}),
      {2, 5, 3, 6});
}

TEST(ViewRules, SplitsHaveTheSizesOfTheirResults) {
  const RunResult r = run(OneCall{"split_copy.Tensor",
                                  {{{3}, {1, 2, 3}}},
                                  {{"self", t(0)}, {"split_size", int64_t{2}}, {"dim", int64_t{0}}},
                                  {{kF32, {2}}, {kF32, {1}}}});
  ASSERT_EQ(r.error, "");
  EXPECT_THAT(r.outputs[0], ElementsAre(1, 2));
  EXPECT_THAT(r.outputs[1], ElementsAre(3));
}

TEST(ViewWriteRules, OverwriteAPart) {
  const OneCall slice = {"slice_scatter",
                         {{{4}, {1, 2, 3, 4}}, {{2}, {8, 9}}},
                         {{"self", t(0)},
                          {"src", t(1)},
                          {"dim", int64_t{0}},
                          {"start", int64_t{0}},
                          {"end", int64_t{4}},
                          {"step", int64_t{2}}},
                         {{kF32, {4}}}};
  EXPECT_VALUES(run(slice), {8, 2, 9, 4});
  const OneCall select = {
      "select_scatter",
      {{{2, 2}, {1, 2, 3, 4}}, {{2}, {8, 9}}},
      {{"self", t(0)}, {"src", t(1)}, {"dim", int64_t{1}}, {"index", int64_t{-1}}},
      {{kF32, {2, 2}}}};
  EXPECT_VALUES(run(select), {1, 8, 3, 9});
  const OneCall diagonal = {"diagonal_scatter",
                            {{{2, 2}, {1, 2, 3, 4}}, {{2}, {8, 9}}},
                            {{"self", t(0)}, {"src", t(1)}},
                            {{kF32, {2, 2}}}};
  EXPECT_VALUES(run(diagonal), {8, 2, 3, 9});
}

TEST(JoinRules, ConcatRepeatRollShuffle) {
  const OneCall cat = {"cat",
                       {{{0}, {}}, {{1, 2}, {1, 2}}, {{1, 2}, {3, 4}, kI64}},
                       {{"tensors", ts({0, 1, 2})}, {"dim", int64_t{-1}}},
                       {{kF32, {1, 4}}}};
  EXPECT_VALUES(run(cat), {1, 2, 3, 4});
  EXPECT_VALUES(run_self("repeat", {{2}, {1, 2}}, {{"repeats", Dims{2, 2}}}, {kF32, {2, 4}}),
                {1, 2, 1, 2, 1, 2, 1, 2});
  EXPECT_VALUES(
      run_self("roll", {{3}, {1, 2, 3}}, {{"shifts", Dims{-4}}, {"dims", Dims{0}}}, {kF32, {3}}),
      {2, 3, 1});
  EXPECT_VALUES(
      run_self("repeat_interleave.self_int", {{2}, {1, 2}}, {{"repeats", int64_t{2}}}, {kF32, {4}}),
      {1, 1, 2, 2});
  EXPECT_VALUES(run_self("pixel_shuffle", {{4, 1, 1}, {1, 2, 3, 4}},
                         {{"upscale_factor", int64_t{2}}}, {kF32, {1, 2, 2}}),
                {1, 2, 3, 4});
}

// --- indices ------------------------------------------------------------------------------------

OneCall index_call(std::vector<Operand> operands, std::vector<TraceValueId> indices, Dims shape) {
  return {"index.Tensor",
          std::move(operands),
          {{"self", t(0)}, {"indices", ts(indices)}},
          {{kF32, std::move(shape)}}};
}

TEST(IndexRules, OneSeveralAndApart) {
  const Operand x = {{2, 3}, {1, 2, 3, 4, 5, 6}};
  EXPECT_VALUES(run(index_call({x, {{2}, {2, 0}, kI64}}, {-1, 1}, {2, 2})), {3, 1, 6, 4});
  const Operand rows = {{2, 1}, {0, -1}, kI64};
  const Operand columns = {{2}, {0, 2}, kI64};
  EXPECT_VALUES(run(index_call({x, rows, columns}, {1, 2}, {2, 2})), {1, 3, 4, 6});
  const Operand cube = {{2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}};
  const Operand ends = {{2}, {0, 1}, kI64};
  EXPECT_VALUES(run(index_call({cube, ends, ends}, {1, -1, 2}, {2, 2})), {1, 3, 6, 8});
}

TEST(IndexRules, MasksAreForKnownOnes) {
  const Operand x = {{2}, {1, 2}};
  EXPECT_THAT(run(index_call({x, {{2}, {0, 1}, kBool}}, {1}, {1})).error,
              HasSubstr("depends on data"));
  TraceBuilder b;
  const auto self = b.input({2});
  const auto mask = b.constant({2}, {0, 1}, kBool);
  b.output(b.call("index.Tensor", {{"self", t(self)}, {"indices", ts({mask})}}, {1}));
  EXPECT_VALUES(run(b.trace, {{1, 2}}), {2});
}

TEST(IndexRules, Writes) {
  const OneCall put = {
      "index_put",
      {{{2, 2}, {1, 2, 3, 4}}, {{2}, {1, 1}, kI64}, {{2, 2}, {5, 6, 7, 8}}},
      {{"self", t(0)}, {"indices", ts({1})}, {"values", t(2)}, {"accumulate", true}},
      {{kF32, {2, 2}}}};
  EXPECT_VALUES(run(put), {1, 2, 15, 18});
  const OneCall column = {"index_put",
                          {{{2, 2}, {1, 2, 3, 4}}, {{1}, {1}, kI64}, {{}, {9}}},
                          {{"self", t(0)}, {"indices", ts({-1, 1})}, {"values", t(2)}},
                          {{kF32, {2, 2}}}};
  EXPECT_VALUES(run(column), {1, 9, 3, 9});
  const OneCall mask = {"index_put",
                        {{{2, 2}, {1, 2, 3, 4}}, {{2}, {0, 1}, kBool}, {{}, {0}}},
                        {{"self", t(0)}, {"indices", ts({1})}, {"values", t(2)}},
                        {{kF32, {2, 2}}}};
  EXPECT_VALUES(run(mask), {1, 2, 0, 0});
}

TEST(IndexRules, FilledRowsCountFromTheEnd) {
  const OneCall fill = {"index_fill.int_Scalar",
                        {{{3}, {1, 2, 3}}, {{2}, {-1, 0}, kI64}},
                        {{"self", t(0)}, {"dim", int64_t{0}}, {"index", t(1)}, {"value", 9.0}},
                        {{kF32, {3}}}};
  EXPECT_VALUES(run(fill), {9, 2, 9});
}

TEST(IndexRules, RowsByAComputedMask) {
  const OneCall rows = {
      "index_put",
      {{{2, 2}, {1, 2, 3, 4}}, {{2}, {0, 1}, kBool}, {{1, 2}, {8, 9}}},
      {{"self", t(0)}, {"indices", ts({1})}, {"values", t(2)}, {"accumulate", true}},
      {{kF32, {2, 2}}}};
  EXPECT_VALUES(run(rows), {1, 2, 11, 13});
  OneCall per_element = rows;
  per_element.operands[2] = {{2, 2}, {5, 6, 7, 8}};
  EXPECT_THAT(run(per_element).error, HasSubstr("depends on data"));
}

TEST(IndexRules, PlacesOfTrueElements) {
  const Operand mask = {{2, 3}, {0, 1, 0, 1, 1, 0}, kBool};
  EXPECT_VALUES(run_self("nonzero", mask, {}, {kI64, {3, 2}}), {0, 1, 1, 0, 1, 1});
  EXPECT_VALUES(run_self("nonzero", {{4}, {0, 0.5, 0, -2}}, {}, {kI64, {2, 1}}), {1, 3});
  EXPECT_VALUES(run_self("nonzero", {{2, 1, 2}, {1, 0, 1, 1}}, {}, {kI64, {3, 3}}),
                {0, 0, 0, 1, 0, 0, 1, 0, 1});
  EXPECT_VALUES(run_self("nonzero", {{2}, {0, 0}}, {}, {kI64, {0, 1}}), {});
}

TEST(IndexRules, MaskedScatterTakesElementsInOrder) {
  const OneCall call = {
      "masked_scatter",
      {{{2, 3}, {1, 2, 3, 4, 5, 6}}, {{3}, {1, 0, 1}, kBool}, {{5}, {7, 8, 9, 10, 11}}},
      {{"self", t(0)}, {"mask", t(1)}, {"source", t(2)}},
      {{kF32, {2, 3}}}};
  EXPECT_VALUES(run(call), {7, 2, 8, 9, 5, 10});
}

TEST(IndexRules, MasksThatConstantsDetermine) {
  TraceBuilder b;
  const auto self = b.input({2});
  const auto numbers = b.constant({2}, {3, -3});
  const auto mask = b.call("gt.Scalar", {{"self", t(numbers)}, {"other", int64_t{0}}}, {2}, kBool);
  b.output(b.call("index.Tensor", {{"self", t(self)}, {"indices", ts({mask})}}, {1}));
  EXPECT_VALUES(run(b.trace, {{1, 2}}), {1});
}

TEST(IndexRules, Membership) {
  const OneCall isin = {"isin.Tensor_Tensor",
                        {{{3}, {1, 2, 3}, kI64}, {{2}, {3, 1}, kI64}},
                        {{"elements", t(0)}, {"test_elements", t(1)}, {"invert", true}},
                        {{kBool, {3}}}};
  EXPECT_VALUES(run(isin), {0, 1, 0});
}

TEST(PatchesRules, UnfoldFoldCrossDistance) {
  const Operand image = {{1, 1, 2, 3}, {1, 2, 3, 4, 5, 6}};
  EXPECT_VALUES(run_self("im2col", image, {{"kernel_size", Dims{2, 2}}}, {kF32, {1, 4, 2}}),
                {1, 2, 2, 3, 4, 5, 5, 6});
  EXPECT_VALUES(
      run_self("col2im", {{1, 2, 2}, {1, 2, 3, 4}},
               {{"output_size", Dims{1, 3}}, {"kernel_size", Dims{1, 2}}}, {kF32, {1, 1, 1, 3}}),
      {1, 5, 4});
  const OneCall cross = {"linalg_cross",
                         {{{3}, {1, 0, 0}}, {{3}, {0, 1, 0}}},
                         {{"self", t(0)}, {"other", t(1)}},
                         {{kF32, {3}}}};
  EXPECT_VALUES(run(cross), {0, 0, 1});
  const OneCall distance = {"cdist",
                            {{{1, 2}, {0, 0}}, {{1, 2}, {3, 4}}},
                            {{"x1", t(0)}, {"x2", t(1)}, {"p", 2.0}},
                            {{kF32, {1, 1}}}};
  EXPECT_VALUES(run(distance), {5});
}

TEST(IndexRules, ScatterAndItsReductions) {
  const std::vector<Operand> operands = {{{3}, {10, 20, 30}}, {{2}, {0, 0}, kI64}, {{2}, {2, 3}}};
  const Args args = {{"self", t(0)}, {"dim", int64_t{0}}, {"index", t(1)}, {"src", t(2)}};
  EXPECT_VALUES(run(OneCall{"scatter_add", operands, args, {{kF32, {3}}}}), {15, 20, 30});
  Args reduce = args;
  reduce.push_back({"reduce", std::string("prod")});
  reduce.push_back({"include_self", false});
  EXPECT_VALUES(run(OneCall{"scatter_reduce.two", operands, reduce, {{kF32, {3}}}}), {6, 20, 30});
  reduce[4].second = std::string("mean");
  EXPECT_VALUES(run(OneCall{"scatter_reduce.two", operands, reduce, {{kF32, {3}}}}), {2.5, 20, 30});
  reduce[5].second = true;
  EXPECT_VALUES(run(OneCall{"scatter_reduce.two", operands, reduce, {{kF32, {3}}}}), {5, 20, 30});
  reduce[4].second = std::string("median");
  EXPECT_THAT(run(OneCall{"scatter_reduce.two", operands, reduce, {{kF32, {3}}}}).error,
              HasSubstr("reduce='median'"));
}

TEST(IndexRules, OneHotAndSearch) {
  EXPECT_VALUES(run_self("one_hot", {{2}, {1, 0}, kI64}, {}, {kI64, {2, 2}}), {0, 1, 1, 0});
  const OneCall bucketize = {"bucketize.Tensor",
                             {{{3}, {1, 2, 3}}, {{2}, {1, 2}}},
                             {{"self", t(0)}, {"boundaries", t(1)}, {"right", true}},
                             {{kI64, {3}}}};
  EXPECT_VALUES(run(bucketize), {1, 2, 2});
}

}  // namespace
}  // namespace lazyrt
