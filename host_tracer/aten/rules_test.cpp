// Each family of rules but those of shapes and indices (index_rules_test.cpp): import by hand-made
// traces, values by the reference kernels. Breadth over shapes and dtypes against eager PyTorch is
// in tests/ops.

#include <cmath>
#include <limits>

#include "host_tracer/aten/rules_testing.h"

namespace lazyrt {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using namespace rules_testing;

// --- elementwise ------------------------------------------------------------------------------

TEST(UnaryRules, IntegersBecomeFloatsWhereTheResultIs) {
  EXPECT_VALUES(run_self("sqrt", {{2}, {4, 9}, kI64}, {}, {kF32, {2}}), {2, 3});
  EXPECT_VALUES(run_self("floor", {{2}, {4, -9}, kI64}, {}, {kI64, {2}}), {4, -9});
  EXPECT_VALUES(run_self("isfinite", {{4}, {1, kInf, -kInf, std::nan("")}}, {}, {kBool, {4}}),
                {1, 0, 0, 0});
  EXPECT_VALUES(run_self("logical_not", {{2}, {0.5, 0}}, {}, {kBool, {2}}), {0, 1});
}

TEST(UnaryRules, ComposedFunctions) {
  EXPECT_VALUES(run_self("asinh", {{2}, {0.5, -3}}, {}, {kF32, {2}}),
                {std::asinh(0.5), std::asinh(-3.0)});
  EXPECT_VALUES(run_self("acosh", {{1}, {2.5}}, {}, {kF32, {1}}), {std::acosh(2.5)});
  EXPECT_VALUES(run_self("atanh", {{1}, {0.25}}, {}, {kF32, {1}}), {std::atanh(0.25)});
  EXPECT_VALUES(run_self("log10", {{1}, {50}}, {}, {kF32, {1}}), {std::log10(50.0)});
  EXPECT_VALUES(run_self("erfc", {{1}, {0.3}}, {}, {kF32, {1}}), {std::erfc(0.3)});
  EXPECT_VALUES(run_self("round.decimals", {{1}, {1.26}}, {{"decimals", int64_t{1}}}, {kF32, {1}}),
                {1.3});
}

TEST(BinaryRules, HypotOfWholeTriplesIsWhole) {
  const auto floor_of = [](DType type, const Values& a, const Values& b) {
    TraceBuilder trace;
    const auto n = static_cast<int64_t>(a.size());
    const auto x = trace.input({n}, type), y = trace.input({n}, type);
    const auto length = trace.call("hypot", {{"self", t(x)}, {"other", t(y)}}, {n}, type);
    trace.output(trace.call("floor", {{"self", t(length)}}, {n}, type));
    return run(trace.trace, {a, b});
  };
  EXPECT_VALUES(floor_of(kF32, {99, 21, 3000, -3}, {168, 220, 4000, 4}), {195, 221, 5000, 5});
  EXPECT_VALUES(floor_of(kF64, {99, 21, 3e6, -3}, {168, 220, 4e6, 4}), {195, 221, 5e6, 5});
  EXPECT_VALUES(floor_of(kF64, {3e200, 0, kInf, std::nan("")}, {0, 0, std::nan(""), 1}),
                {3e200, 0, kInf, std::nan("")});
}

TEST(BinaryRules, PromoteOperandsOfDifferentTypes) {
  const OneCall add = {"add.Tensor",
                       {{{2}, {1, 2}, kI64}, {{2}, {0.5, 0.5}}},
                       {{"self", t(0)}, {"other", t(1)}, {"alpha", int64_t{2}}},
                       {{kF32, {2}}}};
  EXPECT_VALUES(run(add), {2, 3});
  const OneCall less = {
      "lt.Scalar", {{{3}, {0, 1, 2}, kI64}}, {{"self", t(0)}, {"other", 1.5}}, {{kBool, {3}}}};
  EXPECT_VALUES(run(less), {1, 1, 0});
}

TEST(BinaryRules, BroadcastAndEmptyOperands) {
  const OneCall mul = {"mul.Tensor",
                       {{{2, 1}, {2, 3}}, {{3}, {1, 10, 100}}},
                       {{"self", t(0)}, {"other", t(1)}},
                       {{kF32, {2, 3}}}};
  EXPECT_VALUES(run(mul), {2, 20, 200, 3, 30, 300});
  const OneCall empty = {"add.Tensor",
                         {{{0, 3}, {}}, {{3}, {1, 2, 3}}},
                         {{"self", t(0)}, {"other", t(1)}, {"alpha", int64_t{1}}},
                         {{kF32, {0, 3}}}};
  EXPECT_THAT(run(empty).error, IsEmpty());
}

TEST(BinaryRules, NumbersTakeTheTypeOfTheResult) {
  TraceBuilder b;
  const auto x = b.input({2}, kI32);
  b.output(b.call("mul.Tensor", {{"self", t(x)}, {"other", t(b.number(3))}}, {2}, kI32));
  EXPECT_THAT(imported_text(b.trace), Not(HasSubstr("cast")));
  EXPECT_VALUES(run(b.trace, {{1, 2}}), {3, 6});
}

TEST(BinaryRules, BoolArithmeticIsLogic) {
  const OneCall add = {"add.Tensor",
                       {{{2}, {1, 0}, kBool}, {{2}, {1, 0}, kBool}},
                       {{"self", t(0)}, {"other", t(1)}, {"alpha", int64_t{1}}},
                       {{kBool, {2}}}};
  EXPECT_VALUES(run(add), {1, 0});
}

TEST(BinaryRules, RoundingModesAndReversedSubtraction) {
  for (const auto& [mode, expected] : {std::pair{"floor", -4.0}, {"trunc", -3.0}}) {
    EXPECT_VALUES(
        run_self("div.Scalar_mode", {{1}, {-7}, kI64},
                 {{"other", int64_t{2}}, {"rounding_mode", std::string(mode)}}, {kI64, {1}}),
        {expected});
  }
  EXPECT_VALUES(run_self("div.Scalar", {{1}, {-7}, kI64}, {{"other", int64_t{2}}}, {kF32, {1}}),
                {-3.5});
  EXPECT_VALUES(run_self("rsub.Scalar", {{2}, {1, 2}},
                         {{"other", int64_t{10}}, {"alpha", int64_t{3}}}, {kF32, {2}}),
                {7, 4});
}

TEST(BinaryRules, PowersThatHaveAFunctionOfTheirOwn) {
  const std::pair<double, const char*> cases[] = {
      {2, "unary"}, {0.5, "unary"}, {-0.5, "unary"}, {3, "binary"}};
  for (const auto& [exponent, op] : cases) {
    TraceBuilder b;
    const auto x = b.input({1});
    b.output(b.call("pow.Tensor_Scalar", {{"self", t(x)}, {"exponent", exponent}}, {1}));
    EXPECT_THAT(imported_text(b.trace), HasSubstr(op));
    EXPECT_VALUES(run(b.trace, {{4}}), {std::pow(4, exponent)});
  }
}

TEST(PointwiseRules, ClampOfFloatsIsOneNodeAndOfIntegersTwo) {
  EXPECT_VALUES(run_self("clamp", {{3}, {-1, 0.5, 3}}, {{"min", 0.0}, {"max", 1.0}}, {kF32, {3}}),
                {0, 0.5, 1});
  EXPECT_VALUES(run_self("clamp_min", {{3}, {-1, 0, 3}, kI64}, {{"min", int64_t{1}}}, {kI64, {3}}),
                {1, 1, 3});
  EXPECT_VALUES(run_self("nan_to_num", {{3}, {std::nan(""), kInf, 1}},
                         {{"nan", 5.0}, {"posinf", 7.0}}, {kF32, {3}}),
                {5, 7, 1});
}

TEST(PointwiseRules, ChoicesAndMixtures) {
  const OneCall fill = {"masked_fill.Scalar",
                        {{{2}, {1, 2}}, {{2}, {1, 0}, kBool}},
                        {{"self", t(0)}, {"mask", t(1)}, {"value", -kInf}},
                        {{kF32, {2}}}};
  EXPECT_VALUES(run(fill), {-kInf, 2});
  const OneCall where = {"where.ScalarOther",
                         {{{2}, {1, 0}, kBool}, {{2}, {3, 4}, kI64}},
                         {{"condition", t(0)}, {"self", t(1)}, {"other", 0.5}},
                         {{kF32, {2}}}};
  EXPECT_VALUES(run(where), {3, 0.5});
  const OneCall lerp = {"lerp.Scalar",
                        {{{2}, {0, 10}}, {{2}, {10, 20}}},
                        {{"self", t(0)}, {"end", t(1)}, {"weight", 0.75}},
                        {{kF32, {2}}}};
  EXPECT_VALUES(run(lerp), {7.5, 17.5});
}

TEST(ActivationRules, FormsWithParameters) {
  EXPECT_VALUES(run_self("celu", {{2}, {-1, 1}}, {{"alpha", 2.0}}, {kF32, {2}}),
                {2 * std::expm1(-0.5), 1});
  EXPECT_VALUES(run_self("glu", {{4}, {1, 2, 0, 0}}, {{"dim", int64_t{-1}}}, {kF32, {2}}),
                {0.5, 1});
  const OneCall prelu = {"prelu",
                         {{{1, 2, 1}, {-1, -1}}, {{2}, {0.1, 0.2}}},
                         {{"self", t(0)}, {"weight", t(1)}},
                         {{kF32, {1, 2, 1}}}};
  EXPECT_VALUES(run(prelu), {-0.1, -0.2});
  EXPECT_THAT(run_self("rrelu", {{1}, {1}}, {{"training", true}}, {kF32, {1}}).error,
              HasSubstr("eval()"));
}

// --- images -----------------------------------------------------------------------------------

TEST(ConvRules, WeightsAndImagesArePermuted) {
  // Two channels of 1x3; the kernel 1x2 takes channel 0 as it is and channel 1 times ten.
  const OneCall conv = {"convolution",
                        {{{1, 2, 1, 3}, {1, 2, 3, 4, 5, 6}}, {{1, 2, 1, 2}, {1, 0, 10, 0}}},
                        {{"input", t(0)},
                         {"weight", t(1)},
                         {"bias", std::monostate{}},
                         {"stride", Dims{1, 1}},
                         {"padding", Dims{0, 0}},
                         {"dilation", Dims{1, 1}},
                         {"transposed", false},
                         {"output_padding", Dims{0, 0}},
                         {"groups", int64_t{1}}},
                        {{kF32, {1, 1, 1, 2}}}};
  EXPECT_VALUES(run(conv), {41, 52});
}

TEST(ConvRules, OneDimPaddedSameAndUnbatched) {
  const OneCall conv = {"conv1d.padding",
                        {{{1, 3}, {1, 2, 3}}, {{1, 1, 2}, {1, 1}}, {{1}, {100}}},
                        {{"input", t(0)},
                         {"weight", t(1)},
                         {"bias", t(2)},
                         {"stride", Dims{1}},
                         {"padding", std::string("same")},
                         {"dilation", Dims{1}},
                         {"groups", int64_t{1}}},
                        {{kF32, {1, 3}}}};
  EXPECT_VALUES(run(conv), {103, 105, 103});
}

TEST(ConvRules, TransposedWithGroups) {
  // Two groups of one channel each, kernel 1x1: every channel has its own factor.
  const OneCall conv = {"conv_transpose2d.input",
                        {{{1, 2, 1, 2}, {1, 2, 3, 4}}, {{2, 1, 1, 1}, {10, 100}}},
                        {{"input", t(0)},
                         {"weight", t(1)},
                         {"bias", std::monostate{}},
                         {"stride", Dims{1}},
                         {"groups", int64_t{2}}},
                        {{kF32, {1, 2, 1, 2}}}};
  EXPECT_VALUES(run(conv), {10, 20, 300, 400});
}

TEST(ConvRules, ThreeDims) {
  // Frames 1, 2, 4 of one pixel, one channel; the kernel adds 10 times the next frame.
  OneCall conv = {"convolution",
                  {{{1, 1, 3, 1, 1}, {1, 2, 4}}, {{1, 1, 2, 1, 1}, {1, 10}}},
                  {{"input", t(0)},
                   {"weight", t(1)},
                   {"bias", std::monostate{}},
                   {"padding", Dims{1, 0, 0}},
                   {"transposed", false}},
                  {{kF32, {1, 1, 4, 1, 1}}}};
  EXPECT_VALUES(run(conv), {10, 21, 42, 4});
  conv.args.back().second = true;  // each frame and 10 times the one before, less one at each end
  conv.results = {{kF32, {1, 1, 2, 1, 1}}};
  EXPECT_VALUES(run(conv), {12, 24});
}

TEST(PoolRules, SlidingAndAdaptive) {
  const Operand x = {{1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}};
  EXPECT_VALUES(run_self("max_pool2d", x, {{"kernel_size", Dims{2}}, {"stride", Dims{}}},
                         {kF32, {1, 1, 1, 2}}),
                {6, 8});
  EXPECT_VALUES(
      run_self("avg_pool2d", x, {{"kernel_size", Dims{2, 2}}, {"divisor_override", int64_t{1}}},
               {kF32, {1, 1, 1, 2}}),
      {14, 22});
  const Args out_size = {{"output_size", Dims{1, 1}}};
  EXPECT_VALUES(run_self("_adaptive_avg_pool2d", x, out_size, {kF32, {1, 1, 1, 1}}), {4.5});
  EXPECT_VALUES(run_self("adaptive_avg_pool1d", {{1, 1, 4}, {1, 2, 3, 4}}, {}, {kF32, {1, 1, 2}}),
                {1.5, 3.5});
  EXPECT_VALUES(run_self("adaptive_avg_pool1d", {{1, 1, 3}, {1, 2, 3}}, {}, {kF32, {1, 1, 2}}),
                {1.5, 2.5});
  EXPECT_VALUES(
      run_self("adaptive_max_pool2d", {{1, 1, 1, 3}, {5, 1, 2}}, {}, {kF32, {1, 1, 1, 2}}), {5, 2});
  EXPECT_THAT(run_self("adaptive_max_pool2d", {{1, 1, 1, 0}, {}}, {}, {kF32, {1, 1, 1, 2}}).error,
              HasSubstr("empty image"));
}

TEST(UpsampleRules, OneAndTwoDims) {
  EXPECT_VALUES(
      run_self("upsample_nearest1d", {{1, 1, 2}, {1, 2}}, {{"scales", 2.0}}, {kF32, {1, 1, 4}}),
      {1, 1, 2, 2});
  EXPECT_VALUES(run_self("upsample_bilinear2d", {{1, 1, 1, 2}, {0, 3}}, {{"align_corners", true}},
                         {kF32, {1, 1, 1, 4}}),
                {0, 1, 2, 3});
}

TEST(UpsampleRules, SidesThatKeepTheirExtentAreCopiedWhateverTheScale) {
  const Args scales = {{"align_corners", false}, {"scales_h", 1.3}, {"scales_w", 1.3}};
  const Operand x = {{1, 1, 1, 3}, {0, 3, 9}};
  const TypedShape same = {kF32, {1, 1, 1, 3}};
  EXPECT_VALUES(run_self("upsample_nearest2d", x, scales, same), {0, 3, 9});
  EXPECT_VALUES(run_self("upsample_bilinear2d", x, scales, same), {0, 3, 9});
  EXPECT_VALUES(run_self("_upsample_bilinear2d_aa", x, scales, same), {0, 3, 9});
  EXPECT_VALUES(run_self("_upsample_bicubic2d_aa", x, scales, same), {0, 3, 9});
  EXPECT_VALUES(run_self("_upsample_nearest_exact2d", x, scales, same), {0, 3, 3});
  const Operand row = {{1, 1, 3}, {0, 3, 9}};
  const TypedShape same_row = {kF32, {1, 1, 3}};
  EXPECT_VALUES(
      run_self("upsample_linear1d", row, {{"align_corners", false}, {"scales", 1.3}}, same_row),
      {0, 3, 9});
  EXPECT_VALUES(run_self("upsample_nearest1d", row, {{"scales", 1.3}}, same_row), {0, 0, 3});
  EXPECT_VALUES(run_self("upsample_nearest2d", {{1, 1, 1, 3}, {0, 3, 9}},
                         {{"scales_h", 1.0}, {"scales_w", 2.3}}, {kF32, {1, 1, 1, 6}}),
                {0, 0, 3, 3, 9, 9});
}

TEST(UpsampleRules, AntialiasingLeavesSidesThatKeepTheirExtent) {
  EXPECT_VALUES(run_self("_upsample_bilinear2d_aa", {{1, 1, 1, 3}, {kInf, 3, 9}},
                         {{"align_corners", false}}, {kF32, {1, 1, 2, 3}}),
                {kInf, 3, 9, kInf, 3, 9});
}

TEST(PadRules, ListsStartAtTheLastDim) {
  EXPECT_VALUES(run_self("constant_pad_nd", {{1, 2}, {1, 2}},
                         {{"pad", Dims{1, 0, 0, 1}}, {"value", 9.0}}, {kF32, {2, 3}}),
                {9, 1, 2, 9, 9, 9});
  EXPECT_VALUES(
      run_self("reflection_pad1d", {{1, 3}, {1, 2, 3}}, {{"padding", Dims{2, 1}}}, {kF32, {1, 6}}),
      {3, 2, 1, 2, 3, 2});
}

// --- matrices, attention, norms, networks -------------------------------------------------------

TEST(LinearRules, StaticRightSidesMakeALinear) {
  TraceBuilder b;
  const auto x = b.input({1, 2});
  const auto w = b.constant({2, 2}, {1, 2, 3, 4});
  const auto bias = b.constant({2}, {10, 20});
  b.output(b.call("addmm", {{"self", t(bias)}, {"mat1", t(x)}, {"mat2", t(w)}}, {1, 2}));
  EXPECT_THAT(imported_text(b.trace), HasSubstr("linear"));
  EXPECT_VALUES(run(b.trace, {{1, 1}}), {14, 26});
}

TEST(LinearRules, VectorsLoseTheirDims) {
  const OneCall dot = {
      "dot", {{{2}, {1, 2}}, {{2}, {3, 4}}}, {{"self", t(0)}, {"tensor", t(1)}}, {{kF32, {}}}};
  EXPECT_VALUES(run(dot), {11});
  const OneCall batched = {"matmul",
                           {{{2}, {1, 2}}, {{2, 2, 1}, {1, 1, 2, 2}}},
                           {{"self", t(0)}, {"other", t(1)}},
                           {{kF32, {2, 1}}}};
  EXPECT_VALUES(run(batched), {3, 6});
  const OneCall scaled = {
      "baddbmm",
      {{{1, 1, 1}, {1}}, {{1, 1, 2}, {1, 2}}, {{1, 2, 1}, {3, 4}}},
      {{"self", t(0)}, {"batch1", t(1)}, {"batch2", t(2)}, {"beta", 2.0}, {"alpha", 3.0}},
      {{kF32, {1, 1, 1}}}};
  EXPECT_VALUES(run(scaled), {35});
}

TEST(LinearRules, RowsInGroups) {
  OneCall call = {"_grouped_mm",
                  {{{3, 1}, {1, 2, 3}}, {{2, 1, 2}, {1, 10, 100, 1000}}, {{2}, {1, 2}}},
                  {{"self", t(0)}, {"mat2", t(1)}, {"offs", t(2)}, {"bias", std::monostate{}}},
                  {{kF32, {3, 2}}}};
  EXPECT_VALUES(run(call), {1, 10, 200, 2000, 0, 0});
  call.args[2].second = std::monostate{};
  EXPECT_THAT(run(call).error, HasSubstr("groups of rows"));
}

Args attention_args(TraceArg mask, bool causal) {
  return {{"query", t(0)},     {"key", t(1)},      {"value", t(2)},
          {"attn_mask", mask}, {"dropout_p", 0.0}, {"is_causal", causal}};
}

TEST(AttentionRules, MasksAndCausality) {
  const Operand q = {{1, 2, 1}, {0, 0}};
  const Operand v = {{1, 2, 1}, {2, 4}};
  EXPECT_VALUES(run(OneCall{"scaled_dot_product_attention",
                            {q, q, v},
                            attention_args(std::monostate{}, true),
                            {{kF32, {1, 2, 1}}}}),
                {2, 3});
  EXPECT_VALUES(run(OneCall{"scaled_dot_product_attention",
                            {q, q, v, {{2, 2}, {0, 1, 0, 0}, kBool}},
                            attention_args(t(3), false),
                            {{kF32, {1, 2, 1}}}}),
                {4, 0});
  EXPECT_VALUES(run(OneCall{"scaled_dot_product_attention",
                            {q, q, v, {{2, 2}, {0, -kInf, 0, 0}}},
                            attention_args(t(3), false),
                            {{kF32, {1, 2, 1}}}}),
                {2, 3});
}

TEST(AttentionRules, GroupedHeadsAndDropout) {
  Args args = attention_args(std::monostate{}, false);
  args.push_back({"enable_gqa", true});
  const OneCall grouped = {"scaled_dot_product_attention",
                           {{{1, 2, 1, 1}, {1, 1}}, {{1, 1, 1, 1}, {1}}, {{1, 1, 1, 1}, {7}}},
                           args,
                           {{kF32, {1, 2, 1, 1}}}};
  EXPECT_VALUES(run(grouped), {7, 7});
  OneCall dropout = grouped;
  dropout.args[4].second = 0.5;
  EXPECT_THAT(run(dropout).error, HasSubstr("dropout_p"));
}

TEST(NormRules, LayerNormDropsItsStatistics) {
  const OneCall norm = {"native_layer_norm",
                        {{{1, 2}, {1, 3}}},
                        {{"input", t(0)},
                         {"normalized_shape", Dims{2}},
                         {"weight", std::monostate{}},
                         {"bias", std::monostate{}},
                         {"eps", 0.0}},
                        {{kF32, {1, 2}}}};
  EXPECT_VALUES(run(norm), {-1, 1});
}

TEST(NormRules, BatchNormWithGivenAndOwnStatistics) {
  Args args = {{"input", t(0)},
               {"weight", std::monostate{}},
               {"bias", std::monostate{}},
               {"running_mean", t(1)},
               {"running_var", t(2)},
               {"training", false},
               {"eps", 0.0}};
  const std::vector<Operand> operands = {{{2, 1}, {1, 3}}, {{1}, {1}}, {{1}, {4}}};
  EXPECT_VALUES(run(OneCall{"batch_norm", operands, args, {{kF32, {2, 1}}}}), {0, 1});
  args[5].second = true;
  EXPECT_THAT(run(OneCall{"batch_norm", operands, args, {{kF32, {2, 1}}}}).error,
              HasSubstr("eval()"));
  args[3].second = args[4].second = std::monostate{};
  EXPECT_VALUES(run(OneCall{"batch_norm", {operands[0]}, args, {{kF32, {2, 1}}}}), {-1, 1});
}

TEST(NormRules, TrainingGivesTheNewStatistics) {
  const Args args = {{"input", t(0)},
                     {"weight", std::monostate{}},
                     {"bias", std::monostate{}},
                     {"running_mean", t(1)},
                     {"running_var", t(2)},
                     {"training", true},
                     {"momentum", 0.5},
                     {"eps", 0.0}};
  const std::vector<Operand> operands = {{{2, 1}, {1, 3}}, {{1}, {4}}, {{1}, {6}}};
  const std::vector<TypedShape> results = {
      {kF32, {2, 1}}, {kF32, {1}}, {kF32, {1}}, {kF32, {1}}, {kF32, {1}}};
  const auto given = run(OneCall{"_native_batch_norm_legit_functional", operands, args, results});
  EXPECT_EQ(given.error, "");
  EXPECT_THAT(given.outputs,
              ElementsAre(Values{-1, 1}, Values{2}, Values{1}, Values{3}, Values{4}));
}

TEST(RnnRules, GruAndLstmStayWhole) {
  TraceBuilder b;
  const auto x = b.input({1, 1, 1});
  const auto h = b.constant({1, 1, 1}, {0});
  const auto w = b.constant({3, 1}, {0, 0, 0});
  const auto y = b.call_multi("gru.input",
                              {{"input", t(x)},
                               {"hx", t(h)},
                               {"params", ts({w, w})},
                               {"has_biases", false},
                               {"num_layers", int64_t{1}},
                               {"dropout", 0.0},
                               {"train", false},
                               {"bidirectional", false},
                               {"batch_first", true}},
                              {{kF32, {1, 1, 1}}, {kF32, {1, 1, 1}}});
  b.output(y[0]);
  EXPECT_THAT(imported_text(b.trace), HasSubstr("gru"));
  EXPECT_VALUES(run(b.trace, {{1}}), {0});
}

// --- reductions ---------------------------------------------------------------------------------

TEST(ReduceRules, DimsMayBeNegativeAllOrNone) {
  const Operand x = {{2, 2}, {1, 2, 3, 4}};
  EXPECT_VALUES(
      run_self("sum.dim_IntList", x, {{"dim", Dims{-1}}, {"keepdim", true}}, {kF32, {2, 1}}),
      {3, 7});
  EXPECT_VALUES(run_self("mean", x, {}, {kF32, {}}), {2.5});
  EXPECT_VALUES(run_self("amax", x, {{"dim", Dims{}}}, {kF32, {}}), {4});
  EXPECT_VALUES(run_self("sum", {{}, {3}, kI32}, {}, {kI64, {}}), {3});
  EXPECT_VALUES(run_self("sum.dim_IntList", {{0, 2}, {}}, {{"dim", Dims{0}}}, {kF32, {2}}), {0, 0});
  EXPECT_VALUES(run_self("argmax", x, {{"dim", std::monostate{}}}, {kI64, {}}), {3});
  EXPECT_VALUES(run_self("any", {{2}, {0, 0.5}}, {}, {kBool, {}}), {1});
}

TEST(ReduceRules, MaxGivesValuesAndPositions) {
  const RunResult r = run(OneCall{"max.dim",
                                  {{{2, 2}, {1, 2, 4, 3}}},
                                  {{"self", t(0)}, {"dim", int64_t{1}}},
                                  {{kF32, {2}}, {kI64, {2}}}});
  ASSERT_EQ(r.error, "");
  EXPECT_THAT(r.outputs[0], ElementsAre(2, 4));
  EXPECT_THAT(r.outputs[1], ElementsAre(1, 0));
}

TEST(ReduceRules, VarianceNormsAndLogSumExp) {
  const Operand x = {{3}, {1, 2, 6}};
  EXPECT_VALUES(run_self("var.correction", x, {{"correction", int64_t{1}}}, {kF32, {}}), {7});
  EXPECT_VALUES(run_self("std", x, {{"unbiased", false}}, {kF32, {}}), {std::sqrt(14.0 / 3)});
  EXPECT_VALUES(run_self("linalg_vector_norm", x, {{"ord", 1.0}}, {kF32, {}}), {9});
  EXPECT_VALUES(run_self("norm.ScalarOpt_dim", x, {{"p", 3.0}, {"dim", Dims{0}}}, {kF32, {}}),
                {std::cbrt(1 + 8 + 216.0)});
  EXPECT_VALUES(run_self("logsumexp", {{2}, {-kInf, -kInf}}, {{"dim", Dims{0}}}, {kF32, {}}),
                {-kInf});
}

// --- constants, order
// -----------------------------------------------------------------------------

TEST(FactoryRules, AreComputedAtImport) {
  TraceBuilder b;
  const auto a =
      b.call("arange.start_step",
             {{"start", int64_t{1}}, {"end", int64_t{6}}, {"step", int64_t{2}}}, {3}, kI64);
  const auto l = b.call("linspace", {{"start", 0.0}, {"end", 1.0}, {"steps", int64_t{3}}}, {3});
  const auto e = b.call("eye", {{"n", int64_t{2}}}, {2, 2});
  const auto f = b.call("full", {{"size", Dims{2}}, {"fill_value", 7.0}}, {2});
  for (auto id : {a, l, e, f}) b.output(id);
  const RunResult r = run(b.trace);
  ASSERT_EQ(r.error, "");
  EXPECT_THAT(r.outputs[0], ElementsAre(1, 3, 5));
  EXPECT_THAT(r.outputs[1], ElementsAre(0, 0.5, 1));
  EXPECT_THAT(r.outputs[2], ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(r.outputs[3], ElementsAre(7, 7));
}

TEST(FactoryRules, DiagonalsAboveAndBelow) {
  EXPECT_VALUES(run_self("diag_embed", {{2}, {1, 2}}, {{"offset", int64_t{1}}}, {kF32, {3, 3}}),
                {0, 1, 0, 0, 0, 2, 0, 0, 0});
  EXPECT_VALUES(run_self("diag_embed", {{1}, {5}}, {{"offset", int64_t{-1}}}, {kF32, {2, 2}}),
                {0, 0, 5, 0});
}

TEST(SortRules, SortTopKAndMedian) {
  const RunResult sorted =
      run(OneCall{"sort",
                  {{{3}, {2, 3, 1}}},
                  {{"self", t(0)}, {"dim", int64_t{-1}}, {"descending", false}},
                  {{kF32, {3}}, {kI64, {3}}}});
  ASSERT_EQ(sorted.error, "");
  EXPECT_THAT(sorted.outputs[0], ElementsAre(1, 2, 3));
  EXPECT_THAT(sorted.outputs[1], ElementsAre(2, 0, 1));
  EXPECT_VALUES(run_self("median", {{2, 2}, {4, 1, 3, 2}}, {}, {kF32, {}}), {2});
}

TEST(SoftmaxRules, OfAScalarAndOfAMaskedRow) {
  EXPECT_VALUES(run_self("_softmax", {{}, {5}}, {{"dim", int64_t{-1}}}, {kF32, {}}), {1});
  EXPECT_VALUES(
      run_self("_safe_softmax", {{2}, {-kInf, -kInf}}, {{"dim", int64_t{0}}}, {kF32, {2}}), {0, 0});
}

TEST(CopyRules, ConvertDropAndRefuse) {
  EXPECT_VALUES(run_self("_to_copy", {{2}, {1.9, -1.9}}, {{"dtype", kI64}}, {kI64, {2}}), {1, -1});
  const Args train = {{"p", 0.5}, {"train", true}};
  EXPECT_THAT(run_self("dropout", {{1}, {1}}, train, {kF32, {1}}).error, HasSubstr("eval()"));
  EXPECT_VALUES(run_self("dropout", {{1}, {1}}, {{"p", 0.5}, {"train", false}}, {kF32, {1}}), {1});
}

}  // namespace
}  // namespace lazyrt
