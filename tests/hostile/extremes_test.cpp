// Nodes at the ends of what their shape rules accept: cpu and reference answer alike, whatever the
// numbers, within the memory that a stranger's file may take.

#include <algorithm>
#include <functional>
#include <limits>
#include <stdexcept>

#if LAZYRT_TESTS_VULKAN
#include <optional>

#include "lazyrt/vulkan.h"
#endif
#include "tests/hostile/agreement.h"
#include "tests/support/meter.h"

namespace lazyrt {
namespace {

using test::BundleParts;
using test::MethodBuilder;

using Dims = std::vector<int64_t>;
constexpr int kMost = INT32_MAX;
constexpr DType kReal = DType::kFloat32, kWide = DType::kFloat64, kLong = DType::kInt64;

/// A method that is begun; every node gives all of its results.
class Extreme {
 public:
  Extreme() : builder_(&parts_) {}

  int x(Dims shape, DType dtype = kReal) {
    return builder_.input("x" + std::to_string(count_++), dtype, std::move(shape));
  }
  /// A constant; at the place of another one, if that is given.
  int w(Dims shape, int at = -1) {
    size_t count = 1;
    for (const int64_t d : shape) count *= static_cast<size_t>(d);
    const std::vector<float> data = test::random_floats(count, 7);
    const int id =
        builder_.constant("w" + std::to_string(count_++), kReal, std::move(shape), data.data());
    if (at >= 0) value(id).offset = value(at).offset;
    return id;
  }
  /// -1, 1 and the ends of the type.
  template <class T>
  int ends(DType dtype) {
    using Limits = std::numeric_limits<T>;
    const T data[] = {static_cast<T>(-1), Limits::min(), 1, Limits::max()};
    const Dims shape = {4, 1};
    const int id = builder_.constant("w" + std::to_string(count_++), dtype, shape, data);
    if (Limits::min() == 0) value(id).shape = {1, 1}, value(id).bytes = sizeof(T);  // not the 0
    return id;
  }
  /// Whether the shape rule takes this node; then it is one.
  template <class Table>
  bool try_node(const Table& table, std::vector<int> operands) {
    try {
      node(table, std::move(operands));
    } catch (const std::runtime_error&) {
      return false;
    }
    return true;
  }
  template <class Table>
  void node(const Table& table, std::vector<int> operands) {
    const int first = builder_.infer(default_ops(), table, std::move(operands));
    const auto end = static_cast<int>(builder_.method().values.size());
    for (int id = first; id < end; ++id) builder_.output("y" + std::to_string(count_++), id);
  }
  fb::ValueT& value(int id) { return *builder_.method().values[static_cast<size_t>(id)]; }
  const BundleParts& parts() const { return parts_; }

 private:
  BundleParts parts_;
  MethodBuilder builder_;
  int count_ = 0;
};

struct Case {
  const char* name;
  std::function<void(Extreme&)> build;
};

template <class Table>
Table pads(int top, int left, int bottom, int right) {
  Table t;
  t.pad_top = top, t.pad_left = left, t.pad_bottom = bottom, t.pad_right = right;
  return t;
}
template <class Table>
Table strided(Table t, int stride_h, int stride_w) {
  t.stride_h = stride_h, t.stride_w = stride_w;
  return t;
}
template <class Table>
Table dilated(Table t, int dilation_h, int dilation_w) {
  t.dilation_h = dilation_h, t.dilation_w = dilation_w;
  return t;
}
template <class Table>
Table grouped(Table t, int groups) {
  t.groups = groups;
  return t;
}
template <class Table>
Table window(Table t, int kernel, int stride, bool ceil_mode) {
  t.kernel_h = t.kernel_w = kernel, t.stride_h = t.stride_w = stride, t.ceil_mode = ceil_mode;
  return t;
}
using Conv = fb::Conv2dT;
using Up = fb::ConvTranspose2dT;
using MaxPool = fb::MaxPool2dT;
using AvgPool = fb::AvgPool2dT;

fb::MatMulT transposed() {
  fb::MatMulT t;
  t.transpose_b = true;
  return t;
}

/// GRU or LSTM of three layers, all of whose weights begin at one place.
template <class Table>
void rnn(Extreme& m, int states, int64_t gates, bool batch_first, int directions) {
  Table t;
  t.layers = 3, t.bidirectional = directions == 2, t.batch_first = batch_first, t.has_bias = false;
  constexpr int64_t kHidden = 5, kWidth = 7;
  std::vector<int> operands = {m.x({4, 3, kWidth})};
  for (int i = 0; i < states; ++i) {
    operands.push_back(m.x({3 * directions, batch_first ? 4 : 3, kHidden}));
  }
  const int first = m.w({gates * kHidden, 2 * kWidth});
  for (int layer = 0; layer < 3 * directions; ++layer) {
    const int64_t width = layer < directions ? kWidth : directions * kHidden;
    operands.push_back(m.w({gates * kHidden, width}, first));
    operands.push_back(m.w({gates * kHidden, kHidden}, first));
  }
  m.node(t, operands);
}

/// One constant as the weights of everything that packs.
void all_packers(Extreme& m) {
  const int w = m.w({48, 48});
  for (const int64_t rows : {1, 5, 6, 60}) {
    m.node(fb::LinearT(), {m.x({rows, 48}), w});
    m.node(fb::LinearT(), {m.x({rows, 48}), w, m.w({48}, w)});
    m.node(fb::LinearT(), {m.x({rows, 24}), m.w({96, 24}, w)});
    m.node(fb::MatMulT(), {m.x({rows, 48}), w});
    m.node(transposed(), {m.x({rows, 48}), w});
    m.node(fb::MatMulT(), {m.x({rows, 96}), m.w({96, 24}, w)});
  }
  for (const int64_t side : {4, 11}) {
    m.node(Conv(), {m.x({1, side, side, 48}), m.w({48, 1, 1, 48}, w)});
    m.node(strided(Conv(), 2, 2), {m.x({1, side, side, 48}), m.w({48, 1, 1, 48}, w)});
    m.node(Conv(), {m.x({1, side, side, 16}), m.w({16, 3, 3, 16}, w)});
    m.node(Conv(), {m.x({1, side, side, 1}), m.w({16, 3, 3, 1}, w)});
    m.node(grouped(Conv(), 16), {m.x({1, side, side, 16}), m.w({16, 3, 3, 1}, w)});
    m.node(grouped(Conv(), 4), {m.x({1, side, side, 64}), m.w({16, 3, 3, 16}, w)});
    for (int s = 1; s < 4; ++s) {
      m.node(strided(Up(), s, 4 - s), {m.x({1, side, side, 16}), m.w({16, 3, 3, 16}, w)});
      m.node(strided(Up(), s, s), {m.x({1, side, side, 16}), m.w({16, s, s, 16}, w)});
      m.node(dilated(strided(Up(), s, s), 2, 1),
             {m.x({1, side, side, 16}), m.w({16, 3, 3, 16}, w)});
    }
  }
}

/// Rows of one filter's kernel are the first rows of another's.
void coinciding_rows(Extreme& m) {
  const int all = m.w({80, 8, 8, 16});
  for (const uint64_t offset : {0, 64, 512, 1024}) {
    for (const int64_t kernel : {2, 4}) {
      const int w = m.w({9, kernel, kernel, 16});
      m.value(w).offset = m.value(all).offset + offset;
      const int stride = static_cast<int>(kernel);
      m.node(strided(Up(), stride, stride), {m.x({1, 3, 8, 16}), w});
    }
  }
}

void every_pair_of_types(Extreme& m) {
  for (int from = 1; from < kDTypeCount; ++from) {
    for (int to = 1; to < kDTypeCount; ++to) {
      fb::CastT cast;
      cast.to = static_cast<fb::DType>(to);
      m.node(cast, {m.x({40}, static_cast<DType>(from))});
    }
  }
}

template <class Table, class Fn>
Table of(Fn fn) {
  Table t;
  t.fn = fn;
  return t;
}

constexpr fb::BinaryFn kDivisions[] = {fb::BinaryFn::Fmod, fb::BinaryFn::Remainder,
                                       fb::BinaryFn::FloorDivide, fb::BinaryFn::TruncDivide};

void divisions(Extreme& m) {
  for (const fb::BinaryFn fn : kDivisions) {
    const auto t = of<fb::BinaryT>(fn);
    m.node(t, {m.x({7}, kLong), m.ends<int64_t>(kLong)});
    m.node(t, {m.x({7}, DType::kInt32), m.ends<int32_t>(DType::kInt32)});
    m.node(t, {m.x({7}, DType::kInt8), m.ends<int8_t>(DType::kInt8)});
    m.node(t, {m.x({7}, DType::kUInt8), m.ends<uint8_t>(DType::kUInt8)});
  }
}

/// Those that divide integers come with zeros among the divisors: such a run is refused.
void functions(Extreme& m) {
  int taken = 0;
  for (int i = 1; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    for (const auto fn : fb::EnumValuesUnaryFn()) {
      fb::UnaryT t = of<fb::UnaryT>(fn);
      t.alpha = 1e300, t.beta = 0.5;
      taken += m.try_node(t, {m.x({19}, dtype)}) ? 1 : 0;
    }
    for (const auto fn : fb::EnumValuesBinaryFn()) {
      const bool divides =
          std::find(std::begin(kDivisions), std::end(kDivisions), fn) != std::end(kDivisions);
      if (divides && !is_floating(dtype)) continue;
      taken += m.try_node(of<fb::BinaryT>(fn), {m.x({9, 1}, dtype), m.x({9}, dtype)}) ? 1 : 0;
    }
  }
  EXPECT_GT(taken, 200);
}

void samples(Extreme& m) {
  for (const auto mode : fb::EnumValuesSampleMode()) {
    for (const auto padding : fb::EnumValuesSamplePadding()) {
      for (const int64_t side : {1, 4}) {
        fb::GridSampleT t;
        t.mode = mode, t.padding = padding, t.align_corners = side == 1;
        m.node(t, {m.x({2, side, side, 3}), m.x({2, 3, 11, 2})});
        if (mode == fb::SampleMode::Bicubic) continue;
        m.node(t, {m.x({1, side, side, side, 3}), m.x({1, 2, 3, 5, 3})});
      }
    }
  }
}

void resizing(Extreme& m) {
  for (const auto mode : fb::EnumValuesUpsampleMode()) {
    for (const double scale : {0.0, 1e308, 4.7e-10}) {
      fb::Upsample2dT t;
      t.mode = mode, t.out_h = 5, t.out_w = 1, t.scale_h = t.scale_w = scale;
      m.node(t, {m.x({1, 3, 4, 2})});
      t.align_corners = true;
      m.node(t, {m.x({1, 1, 4, 2}, kWide)});
    }
  }
}

void orders(Extreme& m) {
  for (const DType dtype : {kReal, kWide, DType::kFloat16, DType::kUInt8}) {
    fb::PermuteT t;
    t.perm = {7, 0, 6, 1, 5, 2, 4, 3};
    m.node(t, {m.x({2, 3, 2, 1, 2, 2, 3, 2}, dtype)});
    t.perm = {1, 7, 3, 5, 0, 2, 6, 4};
    m.node(t, {m.x({5, 1, 3, 1, 2, 1, 7, 1}, dtype)});
  }
}

void paddings(Extreme& m) {
  fb::PadT t;
  t.before = {-5, 3, -1}, t.after = {9, -2, -1}, t.value = 1e300;
  m.node(t, {m.x({5, 2, 3})});
  m.node(t, {m.x({5, 2, 3}, DType::kUInt8)});
  t.before = {2, 0}, t.after = {2, 1};
  for (const auto mode : {fb::PadMode::Reflect, fb::PadMode::Replicate, fb::PadMode::Circular}) {
    t.mode = mode;
    m.node(t, {m.x({3, 2}, DType::kFloat16)});
  }
}

void triangles(Extreme& m) {
  for (const int64_t diagonal : {INT64_MIN, int64_t{-1}, INT64_MAX}) {
    for (const bool upper : {false, true}) {
      fb::TriangleT t;
      t.diagonal = diagonal, t.upper = upper;
      m.node(t, {m.x({2, 3, 4})});
      fb::TriangularSolveT solve;
      solve.upper = upper, solve.unit = diagonal > 0;
      m.node(solve, {m.x({2, 5, 5}), m.x({2, 5, 3})});
    }
  }
}

void reductions(Extreme& m) {
  for (const auto fn : fb::EnumValuesReduceFn()) {
    fb::ReduceT t = of<fb::ReduceT>(fn);
    t.axes = {0, 2, 4, 6}, t.keepdim = fn == fb::ReduceFn::Max;
    m.node(t, {m.x({2, 3, 2, 1, 3, 2, 2, 2})});
    t.axes = {1};
    if (fn != fb::ReduceFn::Mean) m.node(t, {m.x({3, 50}, DType::kInt8)});
    if (fn != fb::ReduceFn::Max && fn != fb::ReduceFn::Min) m.node(t, {m.x({4, 0})});
  }
}

/// Bools whose bytes are neither 0 nor 1.
void bools(Extreme& m) {
  const int x = m.x({6, 7}, DType::kBool), y = m.x({7}, DType::kBool);
  for (const DType dtype : {kReal, kWide, DType::kInt8}) {
    m.node(fb::WhereT(), {x, m.x({7}, dtype), m.x({6, 1}, dtype)});
    m.node(fb::WhereT(), {y, m.x({}, dtype), m.x({6, 7}, dtype)});
  }
  for (const auto fn : {fb::ReduceFn::Max, fb::ReduceFn::Min, fb::ReduceFn::Any}) {
    fb::ReduceT t = of<fb::ReduceT>(fn);
    t.axes = {0};
    m.node(t, {x});
  }
  for (const auto fn : {fb::ScatterFn::Add, fb::ScatterFn::Max, fb::ScatterFn::Min}) {
    m.node(of<fb::ScatterT>(fn), {x, m.x({0, 7}, kLong), x});
  }
}

void indices(Extreme& m) {
  const int self = m.x({6}, kLong);
  m.node(fb::GatherT(), {self, self});
  m.node(fb::ScatterT(), {self, self, self});
  fb::ScatterT t;
  t.axis = 1, t.fn = fb::ScatterFn::Add;
  m.node(t, {m.x({3, 4}), m.x({2, 6}, kLong), m.x({5, 7})});
}

void broadcasts(Extreme& m) {
  m.node(fb::MatMulT(), {m.x({2, 1, 2, 1, 2, 1, 3, 4}), m.x({1, 3, 1, 2, 1, 2, 4, 5})});
  m.node(fb::MatMulT(), {m.x({2, 3, 1, 3, 4}), m.w({1, 3, 2, 4, 5})});
  m.node(fb::MatMulT(), {m.x({1, 1, 3, 4}), m.w({5, 7, 4, 5})});
  m.node(transposed(), {m.x({5, 7, 3, 4}), m.w({9, 4})});
  m.node(fb::MatMulT(), {m.x({1 << 14, 1, 1}), m.x({1 << 14, 1, 1})});
  const int square = m.x({16, 16});
  m.node(fb::MatMulT(), {square, square});
  m.node(fb::LinearT(), {square, square});
  m.node(fb::LinearT(), {m.x({3, 16}), square, m.w({16})});
}

const Case kCases[] = {
    {"conv_reach_of_2_31",
     [](Extreme& m) {
       m.node(dilated(strided(pads<Conv>(kMost, kMost, 0, 0), kMost, kMost), kMost, kMost),
              {m.x({1, 1, 1, 1}), m.w({1, 2, 2, 1})});
     }},
    {"conv_strides_over_padding",
     [](Extreme& m) {
       m.node(strided(pads<Conv>(kMost, kMost, kMost, kMost), kMost, kMost),
              {m.x({1, 1, 1, 3}), m.w({2, 1, 1, 3})});
     }},
    {"conv_windows_of_padding",
     [](Extreme& m) {
       m.node(strided(pads<Conv>(100, 100, 100, 100), 50, 50),
              {m.x({1, 2, 2, 24}), m.w({16, 2, 2, 24}), m.w({16})});
     }},
    {"conv_winograd_of_padding",
     [](Extreme& m) {
       m.node(pads<Conv>(40, 9, 0, 5), {m.x({2, 1, 9, 17}), m.w({19, 3, 3, 17}), m.w({19})});
     }},
    {"conv_patches_dilated",
     [](Extreme& m) {
       m.node(dilated(strided(pads<Conv>(0, 7, 0, 1), 1, 2), 1, 3),
              {m.x({2, 7, 11, 19}), m.w({9, 2, 3, 19})});
     }},
    {"conv_channels_by_one",
     [](Extreme& m) {
       for (const int stride : {1, 2}) {
         m.node(grouped(strided(Conv(), stride, 1), 70),
                {m.x({1, 5, 5, 70}), m.w({70, 1, 1, 1}), m.w({70})});
       }
       m.node(grouped(Conv(), 70), {m.x({1, 9, 9, 70}), m.w({140, 5, 5, 1})});
       m.node(grouped(Conv(), 70), {m.x({1, 29, 29, 70}), m.w({70, 7, 9, 1})});
     }},
    {"up_cut_to_two",
     [](Extreme& m) {
       m.node(strided(pads<Up>(3999, 3999, 0, 0), 4000, 4000),
              {m.x({1, 2, 2, 2}), m.w({3, 1, 1, 2})});
     }},
    {"up_reach_of_2_31",
     [](Extreme& m) {
       m.node(dilated(pads<Up>(kMost, kMost, 0, 0), kMost, kMost),
              {m.x({1, 1, 1, 2}), m.w({3, 2, 2, 2})});
     }},
    {"up_output_padding_of_a_dilation",
     [](Extreme& m) {
       Up t = dilated(strided(Up(), 2, 1), 7, 7);
       t.output_pad_h = t.output_pad_w = 6;
       m.node(t, {m.x({1, 3, 3, 2}), m.w({3, 2, 2, 2}), m.w({3})});
     }},
    {"up_pads_cross",
     [](Extreme& m) {
       m.node(strided(pads<Up>(9, 0, 2, 0), 4, 4), {m.x({1, 5, 5, 4}), m.w({3, 4, 4, 4})});
       m.node(strided(Up(), 63, 63), {m.x({1, 3, 3, 4}), m.w({3, 2, 64, 4})});
       m.node(strided(Up(), 9, 2), {m.x({1, 5, 9, 16}), m.w({5, 9, 2, 16})});
     }},
    {"max_pool_of_holes",
     [](Extreme& m) {
       m.node(dilated(window(pads<MaxPool>(1, 1, 2, 2), 2, 1, false), 3, 3), {m.x({1, 1, 1, 5})});
     }},
    {"max_pool_reach_of_2_31",
     [](Extreme& m) {
       m.node(dilated(window(pads<MaxPool>(kMost, kMost, 0, 0), 2, kMost, false), kMost, kMost),
              {m.x({1, 3, 3, 5})});
     }},
    {"pools_beyond_the_end",
     [](Extreme& m) {
       m.node(window(pads<MaxPool>(8, 0, 0, 0), 9, 100, true), {m.x({2, 3, 4, 5})});
       m.node(window(MaxPool(), 5, 10, true), {m.x({1, 1, 1, 5})});
       AvgPool t = window(pads<AvgPool>(4, 4, 4, 0), 5, 4, true);
       m.node(t, {m.x({1, 3, 8, 3})});
       t.divisor_override = kMost;
       m.node(t, {m.x({1, 7, 7, 3})});
       m.node(window(AvgPool(), 1, 3, true), {m.x({1, 0, 4, 3})});
     }},
    {"adaptive_pools",
     [](Extreme& m) {
       for (const auto& [h, w] : {std::pair(1500, 1), std::pair(2, 3), std::pair(0, 3)}) {
         fb::AdaptiveAvgPool2dT t;
         t.out_h = h, t.out_w = w;
         m.node(t, {m.x({2, 67, 131, 3})});
       }
     }},
    {"resizing", resizing},
    {"grid_samples", samples},
    {"permutations", orders},
    {"paddings", paddings},
    {"triangles", triangles},
    {"reductions", reductions},
    {"reductions_of_long_columns",
     [](Extreme& m) {
       fb::ReduceT t;
       t.axes = {0};
       m.node(t, {m.x({70001, 3})});
     }},
    {"slices",
     [](Extreme& m) {
       fb::SliceT t;
       t.starts = {5, 0, 2}, t.sizes = {0, 1, 2}, t.steps = {INT64_MAX, INT64_MAX, 1};
       m.node(t, {m.x({5, 3, 4})});
     }},
    {"concat_of_nothing",
     [](Extreme& m) {
       fb::ConcatT t;
       const int none = m.x({int64_t{1} << 20, 0});
       m.node(t, std::vector<int>(100, none));
       t.axis = 1;
       const int empty = m.x({3, 0, 2}), x = m.x({3, 2, 2});
       m.node(t, {empty, x, empty, empty, x, empty});
     }},
    {"factors",
     [](Extreme& m) {
       for (const DType dtype : {kReal, kWide}) {
         m.node(fb::LuT(), {m.x({2, 5, 5}, dtype)});
         m.node(fb::CholeskyT(), {m.x({2, 5, 5}, dtype)});
       }
       m.node(fb::LuT(), {m.x({1 << 16, 0, 0})});
     }},
    {"top_k",
     [](Extreme& m) {
       for (const int64_t k : {0, 1, 5}) {
         fb::TopKT t;
         t.axis = 1, t.k = k, t.largest = k != 1;
         m.node(t, {m.x({3, 5, 2})});
       }
     }},
    {"softmax",
     [](Extreme& m) {
       fb::SoftmaxT t;
       for (t.axis = 0; t.axis < 3; ++t.axis) {
         t.log = t.axis == 1, t.safe = t.axis == 2;
         m.node(t, {m.x({2, 5, 3})});
       }
     }},
    {"casts", every_pair_of_types},
    {"divisions", divisions},
    {"division_by_0",
     [](Extreme& m) {
       const int x = m.x({7}, kLong);
       m.node(of<fb::BinaryT>(fb::BinaryFn::Remainder), {x, x});
     }},
    {"functions", functions},
    {"bools", bools},
    {"powers",
     [](Extreme& m) {
       for (const DType dtype : {kLong, DType::kInt32, DType::kInt8, DType::kUInt8}) {
         m.node(of<fb::BinaryT>(fb::BinaryFn::Pow), {m.x({7}, dtype), m.x({7, 1}, dtype)});
       }
     }},
    {"clamps_that_cross",
     [](Extreme& m) {
       fb::UnaryT t = of<fb::UnaryT>(fb::UnaryFn::Clamp);
       t.alpha = 3, t.beta = -3;
       for (const DType dtype : {kReal, kWide, kLong, DType::kUInt8}) m.node(t, {m.x({19}, dtype)});
     }},
    {"index_of_itself", indices},
    {"gru_forward", [](Extreme& m) { rnn<fb::GruT>(m, 1, 3, false, 1); }},
    {"gru_both_ways", [](Extreme& m) { rnn<fb::GruT>(m, 1, 3, true, 2); }},
    {"lstm_forward", [](Extreme& m) { rnn<fb::LstmT>(m, 2, 4, true, 1); }},
    {"lstm_both_ways", [](Extreme& m) { rnn<fb::LstmT>(m, 2, 4, false, 2); }},
    {"all_packers_of_one_constant", all_packers},
    {"coinciding_rows_of_kernels", coinciding_rows},
    {"broadcast_products", broadcasts},
};

/// `kind` 0: zeros; 1: small numbers; 2: ends, infinities, NaN.
std::vector<uint8_t> numbers(const TensorInfo& info, int kind) {
#if defined(__arm__)
  constexpr float kTiny = 2e-38f;  // its vectors take subnormal numbers for 0
#else
  constexpr float kTiny = 1e-40f;
#endif
  constexpr float kReals[] = {0, -0.0f, kTiny, 3e38f, -3e38f, HUGE_VALF, -HUGE_VALF, NAN, 0.5f};
  constexpr int64_t kIntegers[] = {INT64_MIN, -1, INT64_MAX, 0, 1, INT32_MIN, INT32_MAX};
  const auto count = static_cast<size_t>(info.shape.numel());
  const std::vector<float> random = test::random_floats(count, 1);
  std::vector<uint8_t> bytes(count * dtype_size(info.dtype));
  for (size_t i = 0; i < count && kind != 0; ++i) {
    const float real = kind == 1 ? 4 * random[i] : kReals[i % std::size(kReals)];
    const double wide = static_cast<double>(real);
    const int64_t integer =
        kind == 1 ? static_cast<int64_t>(4 * random[i]) : kIntegers[i % std::size(kIntegers)];
    const void* from = info.dtype == kReal   ? static_cast<const void*>(&real)
                       : info.dtype == kWide ? static_cast<const void*>(&wide)
                                             : &integer;
    const size_t size = dtype_size(info.dtype);
    std::memcpy(bytes.data() + i * size, from, size);
  }
  return bytes;
}

struct Outcome {
  Error error = Error::kOk;
  std::vector<TensorView> views;  ///< of which only type and shape stay
  std::vector<std::vector<uint8_t>> bytes;
};

Outcome outcome_of(const Method& method, const Backend* backend, int threads, uint64_t limit,
                   int kind) {
  test::Meter meter;
  SessionOptions options;
  options.backend = backend;
  options.threads = threads;
  options.memory_limit = limit;
  options.allocator = meter.hooks();
  options.deadline_nanoseconds = uint64_t{10} * 1000 * 1000 * 1000;
  Outcome outcome;
  Session session = test::make(method, options);
  for (size_t i = 0; i < method.input_count(); ++i) {
    const std::vector<uint8_t> data = numbers(method.input(i), kind);
    EXPECT_TRUE(session.set_input(i, data.data(), data.size()).ok());
  }
  outcome.error = session.run().error();
  EXPECT_LE(meter.peak(), limit + 4096);
  for (size_t i = 0; outcome.error == Error::kOk && i < method.output_count(); ++i) {
    outcome.views.push_back(*session.output(i));
    const auto* data = outcome.views.back().as<const uint8_t>();
    outcome.bytes.emplace_back(data, data + outcome.views.back().bytes());
  }
  return outcome;
}

template <class T>
void expect_near(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b) {
  const auto at = [](const std::vector<uint8_t>& bytes, size_t i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    return static_cast<double>(value);
  };
  double largest = 1;
  for (size_t i = 0; i < b.size() / sizeof(T); ++i) {
    if (std::isfinite(at(b, i))) largest = std::max(largest, std::fabs(at(b, i)));
  }
  for (size_t i = 0; i < b.size() / sizeof(T); ++i) {
    if (!std::isfinite(at(a, i)) || !std::isfinite(at(b, i))) continue;
    ASSERT_NEAR(at(a, i), at(b, i), 1e-4 * largest) << i;
  }
}

void expect_same(const Outcome& a, const Outcome& b) {
  ASSERT_EQ(a.error, b.error);
  for (size_t i = 0; i < b.bytes.size(); ++i) {
    SCOPED_TRACE("output " + std::to_string(i));
    ASSERT_EQ(a.bytes[i].size(), b.bytes[i].size());
    if (b.views[i].dtype == kReal) {
      expect_near<float>(a.bytes[i], b.bytes[i]);
    } else if (b.views[i].dtype == kWide) {
      expect_near<double>(a.bytes[i], b.bytes[i]);
    } else {
      EXPECT_EQ(a.bytes[i], b.bytes[i]);
    }
  }
}

#if LAZYRT_TESTS_VULKAN
/// At the limits that every device has.
class ExtremeNodes : public testing::TestWithParam<Case> {
 protected:
  static void SetUpTestSuite() {
    VulkanOptions options;
    options.fallback = reference_backend();
    options.mask_to_floor = true;
    vulkan_.emplace(VulkanBackend::create(options));
  }
  static void TearDownTestSuite() { vulkan_.reset(); }

  static std::optional<Result<VulkanBackend>> vulkan_;
};
std::optional<Result<VulkanBackend>> ExtremeNodes::vulkan_;
#else
class ExtremeNodes : public testing::TestWithParam<Case> {};
#endif

TEST_P(ExtremeNodes, AreAnsweredAlike) {
  Extreme method;
  GetParam().build(method);
  const test::AlignedBytes file = write_bundle(method.parts());
  LoadOptions load;
  load.memory_limit = (uint64_t{64} << 20) + 4 * file.size();
  load.node_work_limit = uint64_t{1} << 28;
  const Result<Program> program = Program::load(file.span(), default_ops(), load);
  ASSERT_TRUE(program.ok()) << program.status().message();
  for (int kind = 0; kind < 3; ++kind) {
    SCOPED_TRACE("numbers of kind " + std::to_string(kind));
    const auto with = [&](const Backend* backend, int threads) {
      return outcome_of(program->method(0), backend, threads, load.memory_limit, kind);
    };
    const Outcome wanted = with(reference_backend(), 1);
    expect_same(with(cpu_backend(), 1), wanted);
    expect_same(with(cpu_backend(), 3), wanted);
#if LAZYRT_TESTS_VULKAN
    SCOPED_TRACE("on vulkan");
    ASSERT_TRUE(vulkan_->ok()) << vulkan_->status().message();
    expect_same(with((*vulkan_)->backend(), 1), wanted);
#endif
  }
}

INSTANTIATE_TEST_SUITE_P(All, ExtremeNodes, testing::ValuesIn(kCases),
                         [](const auto& c) { return std::string(c.param.name); });

}  // namespace
}  // namespace lazyrt
