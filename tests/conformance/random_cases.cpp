#include "tests/conformance/random_cases.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "kernels/binary/binary_function.h"
#include "kernels/unary/unary_function.h"

namespace lazyrt {
namespace {

using Dims = std::vector<int64_t>;
using fb::OpAttrs;

/// Draws sizes and attributes.
class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(seed) {}

  int64_t in(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  bool coin(int one_in = 2) { return in(0, one_in - 1) == 0; }
  /// An extent: mostly small, at times 1, rarely 0.
  int64_t extent(int64_t most = 12) { return coin(40) ? 0 : coin(6) ? 1 : in(1, most); }
  Dims shape(int low_rank, int high_rank, int64_t most = 9) {
    Dims dims(static_cast<size_t>(in(low_rank, high_rank)));
    for (int64_t& d : dims) d = extent(most);
    return dims;
  }
  /// A shape that broadcasts to `to`.
  Dims narrowed(const Dims& to) {
    Dims dims(to.begin() + (coin(3) && !to.empty() ? in(0, static_cast<int64_t>(to.size())) : 0),
              to.end());
    for (int64_t& d : dims) d = coin(4) ? 1 : d;
    return dims;
  }
  std::vector<int32_t> axes(int64_t rank) {
    std::vector<int32_t> out;
    for (int64_t i = 0; i < rank; ++i) {
      if (coin()) out.push_back(static_cast<int32_t>(i));
    }
    if (out.empty()) out.push_back(static_cast<int32_t>(in(0, rank - 1)));
    return out;
  }
  int axis(const Dims& dims) {
    return static_cast<int>(in(0, static_cast<int64_t>(dims.size()) - 1));
  }
  /// Integers: few ones, so that many are equal, or so many that sums of them wrap.
  Fill whole_numbers(DType dtype) {
    const int64_t most = dtype == DType::kInt64 ? int64_t{1} << 62 : int64_t{1} << 30;
    return dtype == DType::kBool || coin() ? Fill::integers(dtype == DType::kBool ? 0 : -3, 1)
                                           : Fill::integers(-most, most);
  }
  template <class Enum>
  Enum any(Enum last) {
    return static_cast<Enum>(in(0, static_cast<int64_t>(last)));
  }

 private:
  std::mt19937_64 random_;
};

OpCase unary(Draw& d) {
  fb::UnaryT t;
  do {
    t.fn = d.any(fb::UnaryFn::MAX);
  } while ((unary_types(unary_kind(t.fn)) & kFloatTypes) == 0);
  t.alpha = 0.1 * static_cast<double>(d.in(1, 9));
  t.beta = 1 + 0.5 * static_cast<double>(d.in(0, 9));
  return {"", case_attrs(t), {random_operand(d.shape(0, 4, 20), Fill::normal(0, 2))}};
}

OpCase binary(Draw& d) {
  using Fn = fb::BinaryFn;
  fb::BinaryT t;
  do {
    t.fn = d.any(Fn::MAX);
  } while ((binary_types(binary_kind(t.fn)) & kFloatTypes) == 0);
  Dims a = d.shape(0, 5, 7), b = d.narrowed(a);
  if (d.coin()) std::swap(a, b);
  if (binary_kind(t.fn) == BinaryKind::kDivision && d.coin()) {
    const DType dtype = d.coin() ? DType::kInt64 : DType::kInt32;
    const Fill divisors = d.coin() ? Fill::integers(1, 5) : Fill::integers(-4, -1);
    return {"",
            case_attrs(t),
            {random_operand(a, d.coin() ? Fill::integers(-99, 99) : d.whole_numbers(dtype), dtype),
             random_operand(b, divisors, dtype)}};
  }
  const Fill fill = t.fn == Fn::Pow ? Fill::uniform(0.1, 2) : Fill::normal();
  return {"", case_attrs(t), {random_operand(a, fill), random_operand(b, fill)}};
}

OpCase where(Draw& d) {
  const Dims y = d.shape(0, 4, 7);
  return {"",
          case_attrs(fb::WhereT{}),
          {random_operand(d.narrowed(y), Fill::normal(), DType::kBool), random_operand(y),
           random_operand(d.narrowed(y))}};
}

OpCase cast(Draw& d) {
  constexpr DType kTypes[] = {DType::kFloat32, DType::kFloat64, DType::kInt32,
                              DType::kInt64,   DType::kBool,    DType::kFloat16};
  fb::CastT t;
  t.to = static_cast<fb::DType>(kTypes[d.in(0, 5)]);
  const DType from = kTypes[d.in(0, 5)];
  const Fill fill = from == DType::kBool ? Fill::normal() : Fill::normal(0, 20);
  return {"", case_attrs(t), {random_operand(d.shape(0, 3, 20), fill, from)}};
}

/// What the cpu backend does in tiles: 3x3, stride 1, many channels.
OpCase tiled_conv(Draw& d) {
  fb::Conv2dT t;
  t.pad_top = static_cast<int>(d.in(0, 2)), t.pad_bottom = static_cast<int>(d.in(0, 2));
  t.pad_left = static_cast<int>(d.in(0, 2)), t.pad_right = static_cast<int>(d.in(0, 2));
  if (d.coin(4)) t.min = 0;
  const int64_t channels = d.in(14, 40), filters = d.in(14, 40);
  return {"",
          case_attrs(t),
          {random_operand({d.in(1, 2), d.in(9, 18), d.in(9, 18), channels}),
           weight_operand({filters, 3, 3, channels}),
           d.coin(4) ? absent_operand() : weight_operand({filters})},
          2e-5};
}

template <class Table>
OpCase conv(Draw& d) {
  Table t;
  t.groups = d.coin(3) ? static_cast<int>(d.in(1, 6)) : 1;
  const bool depthwise = d.coin(4);
  const int64_t depth = depthwise ? 1 : d.in(1, 9);
  const int64_t kernel_h = d.in(1, 4), kernel_w = d.in(1, 4);
  t.stride_h = static_cast<int>(d.in(1, 3)), t.stride_w = static_cast<int>(d.in(1, 3));
  t.dilation_h = static_cast<int>(d.in(1, 2)), t.dilation_w = static_cast<int>(d.in(1, 2));
  t.pad_top = static_cast<int>(d.in(0, kernel_h - 1)),
  t.pad_bottom = static_cast<int>(d.in(0, kernel_h - 1));
  t.pad_left = static_cast<int>(d.in(0, kernel_w - 1)),
  t.pad_right = static_cast<int>(d.in(0, kernel_w - 1));
  if (d.coin(4)) t.min = 0;
  if (d.coin(6)) t.max = 6;
  const int64_t filters = t.groups * d.in(1, depthwise ? 1 : 5);
  const bool bias = !d.coin(4);
  return {"",
          case_attrs(t),
          {random_operand({d.extent(2), d.in(7, 11), d.in(7, 11), depth * t.groups}),
           weight_operand({filters, kernel_h, kernel_w, depth}),
           bias ? weight_operand({filters}) : absent_operand()},
          2e-5};
}

OpCase conv2d(Draw& d) { return d.coin(4) ? tiled_conv(d) : conv<fb::Conv2dT>(d); }

OpCase linear(Draw& d) {
  fb::LinearT t;
  if (d.coin(4)) t.min = 0;
  const int64_t depth = d.in(1, 70), units = d.in(1, 40);
  Dims x = d.shape(0, 3, 6);
  x.push_back(depth);
  return {"",
          case_attrs(t),
          {random_operand(x), weight_operand({units, depth}),
           d.coin() ? weight_operand({units}) : absent_operand()},
          2e-5};
}

OpCase matmul(Draw& d) {
  fb::MatMulT t;
  t.transpose_b = d.coin();
  Dims a = d.shape(0, 2, 4), b = d.narrowed(a);
  if (d.coin()) std::swap(a, b);
  const int64_t m = d.extent(20), n = d.extent(20), k = d.in(1, 30);
  a.insert(a.end(), {m, k});
  b.insert(b.end(), {t.transpose_b ? n : k, t.transpose_b ? k : n});
  OpCase c = {"", case_attrs(t), {random_operand(a), random_operand(b)}, 2e-5};
  c.operands[1].constant = d.coin(3);
  return c;
}

template <class Table>
OpCase pool(Draw& d) {
  Table t;
  t.kernel_h = static_cast<int>(d.in(1, 4)), t.kernel_w = static_cast<int>(d.in(1, 4));
  t.stride_h = static_cast<int>(d.in(1, 3)), t.stride_w = static_cast<int>(d.in(1, 3));
  t.pad_top = static_cast<int>(d.in(0, t.kernel_h / 2)),
  t.pad_bottom = static_cast<int>(d.in(0, t.kernel_h / 2));
  t.pad_left = static_cast<int>(d.in(0, t.kernel_w / 2)),
  t.pad_right = static_cast<int>(d.in(0, t.kernel_w / 2));
  t.ceil_mode = d.coin(3);
  return {
      "", case_attrs(t), {random_operand({d.extent(2), d.in(4, 10), d.in(4, 10), d.extent(20)})}};
}

OpCase adaptive_avg_pool2d(Draw& d) {
  fb::AdaptiveAvgPool2dT t;
  t.out_h = static_cast<int>(d.in(1, 6)),
  t.out_w = d.coin() ? t.out_h : static_cast<int>(d.in(1, 6));
  return {
      "", case_attrs(t), {random_operand({d.extent(2), d.in(1, 10), d.in(1, 10), d.extent(20)})}};
}

OpCase reduce(Draw& d) {
  fb::ReduceT t;
  Dims shape = d.shape(1, 5, 7);
  for (int64_t& x : shape) x = std::max<int64_t>(x, 1);
  t.fn = d.any(fb::ReduceFn::MAX);
  t.axes = d.axes(static_cast<int64_t>(shape.size()));
  t.keepdim = d.coin();
  if (t.fn == fb::ReduceFn::Mean || d.coin()) return {"", case_attrs(t), {random_operand(shape)}};
  const bool takes_bools = t.fn != fb::ReduceFn::Sum && t.fn != fb::ReduceFn::Prod;
  const DType dtype = takes_bools && d.coin() ? DType::kBool
                      : d.coin()              ? DType::kInt64
                                              : DType::kInt32;
  return {"", case_attrs(t), {random_operand(shape, d.whole_numbers(dtype), dtype)}};
}

OpCase softmax(Draw& d) {
  fb::SoftmaxT t;
  const Dims shape = d.shape(1, 4, 20);
  t.axis = static_cast<int>(d.in(0, static_cast<int64_t>(shape.size()) - 1));
  t.log = d.coin(3), t.safe = !t.log && d.coin(3);
  return {"", case_attrs(t), {random_operand(shape, Fill::normal(0, 3))}};
}

OpCase cum_sum(Draw& d) {
  fb::CumSumT t;
  Dims shape = d.shape(1, 4, 20);
  t.axis = d.axis(shape);
  if (d.coin(3)) shape.back() *= 30;
  if (d.coin()) return {"", case_attrs(t), {random_operand(shape)}};
  const DType dtype = d.coin() ? DType::kInt64 : DType::kInt32;
  return {"", case_attrs(t), {random_operand(shape, d.whole_numbers(dtype), dtype)}};
}

/// Operand, axis and indices of a gather or scatter: x, and an index that is at most as large
/// beside the axis.
struct Indexed {
  Dims x;
  int axis;
  CaseOperand index;
};
Indexed indexed(Draw& d) {
  Indexed made;
  made.x = d.shape(1, 4, 9);
  made.axis = d.axis(made.x);
  int64_t& extent = made.x[static_cast<size_t>(made.axis)];
  extent = std::max<int64_t>(extent, 1);
  Dims shape = made.x;
  for (int64_t& size : shape) size = d.coin(4) ? d.in(0, size) : size;
  shape[static_cast<size_t>(made.axis)] = d.extent(20);
  made.index = random_operand(shape, Fill::integers(0, extent - 1),
                              d.coin() ? DType::kInt64 : DType::kInt32);
  return made;
}

DType moved_type(Draw& d) {
  constexpr DType kTypes[] = {DType::kFloat32, DType::kInt64, DType::kFloat16, DType::kUInt8};
  return kTypes[d.in(0, 3)];
}

OpCase gather(Draw& d) {
  fb::GatherT t;
  const Indexed of = indexed(d);
  t.axis = of.axis;
  return {
      "", case_attrs(t), {random_operand(of.x, Fill::integers(0, 99), moved_type(d)), of.index}};
}

OpCase scatter(Draw& d) {
  fb::ScatterT t;
  const Indexed of = indexed(d);
  t.axis = of.axis, t.fn = d.any(fb::ScatterFn::MAX);
  Dims src = of.index.shape;
  for (int64_t& size : src) size += d.coin(4) ? d.in(0, 2) : 0;
  const DType dtype = t.fn == fb::ScatterFn::Assign ? moved_type(d)
                      : d.coin()                    ? DType::kFloat32
                                                    : DType::kInt64;
  const Fill few = Fill::integers(0, 3);
  return {"",
          case_attrs(t),
          {random_operand(of.x, few, dtype), of.index, random_operand(src, few, dtype)}};
}

/// With many elements that are equal, zeros of both signs, infinities and NaN among them.
OpCase top_k(Draw& d) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  fb::TopKT t;
  Dims shape = d.shape(1, 3, 12);
  t.axis = d.axis(shape);
  int64_t& extent = shape[static_cast<size_t>(t.axis)];
  if (d.coin(3)) extent *= 40;
  t.k = static_cast<int32_t>(d.coin(3) ? extent : d.in(0, d.coin() ? extent : extent / 9));
  t.largest = d.coin(), t.sorted = d.coin();
  const DType dtype = d.coin() ? DType::kFloat32 : d.coin() ? DType::kInt64 : DType::kInt32;
  const Fill fill = dtype != DType::kFloat32 ? d.whole_numbers(dtype)
                    : d.coin(4) ? Fill::of({0.0, -0.0, std::nan(""), 1, kInf, -kInf, -1, 0.0, -1})
                                : Fill::normal();
  return {"", case_attrs(t), {random_operand(shape, fill, dtype)}};
}

OpCase scan(Draw& d) {
  fb::ScanT t;
  const Dims shape = d.shape(1, 4, 20);
  t.fn = d.any(fb::ScanFn::MAX);
  t.axis = static_cast<int>(d.in(0, static_cast<int64_t>(shape.size()) - 1));
  return {"", case_attrs(t), {random_operand(shape)}};
}

template <class Table>
OpCase row_norm(Draw& d, int operands) {
  Table t;
  const Dims shape = d.shape(1, 4, 20);
  t.normalized_rank = static_cast<int>(d.in(1, static_cast<int64_t>(shape.size())));
  const Dims row(shape.end() - t.normalized_rank, shape.end());
  OpCase c = {"", case_attrs(t), {random_operand(shape)}, 2e-5};
  for (int i = 1; i < operands; ++i) {
    c.operands.push_back(d.coin(4) ? absent_operand() : weight_operand(row, Fill::normal(1, 0.5)));
  }
  return c;
}
OpCase layer_norm(Draw& d) { return row_norm<fb::LayerNormT>(d, 3); }
OpCase rms_norm(Draw& d) { return row_norm<fb::RmsNormT>(d, 2); }

OpCase group_norm(Draw& d) {
  fb::GroupNormT t;
  t.groups = static_cast<int>(d.in(1, 4));
  Dims shape = d.shape(2, 4, 6);
  t.channel_axis = static_cast<int>(d.coin() ? 1 : shape.size() - 1);
  const int64_t channels = t.groups * d.in(1, 5);
  shape[static_cast<size_t>(t.channel_axis)] = channels;
  return {"",
          case_attrs(t),
          {random_operand(shape), weight_operand({channels}), weight_operand({channels})},
          2e-4};
}

OpCase batch_norm(Draw& d) {
  fb::BatchNormT t;
  const Dims shape = d.shape(1, 4, 12);
  t.channel_axis = static_cast<int>(d.in(0, static_cast<int64_t>(shape.size()) - 1));
  const Dims row = {shape[static_cast<size_t>(t.channel_axis)]};
  return {"",
          case_attrs(t),
          {random_operand(shape), weight_operand(row), weight_operand(row), weight_operand(row),
           weight_operand(row, Fill::uniform(0.5, 2))}};
}

OpCase permute(Draw& d) {
  fb::PermuteT t;
  const Dims shape = d.shape(0, 6, 7);
  t.perm.resize(shape.size());
  std::iota(t.perm.begin(), t.perm.end(), 0);
  for (size_t i = t.perm.size(); i > 1; --i) {
    std::swap(t.perm[i - 1], t.perm[static_cast<size_t>(d.in(0, static_cast<int64_t>(i) - 1))]);
  }
  return {"", case_attrs(t), {random_operand(shape)}};
}

OpCase expand(Draw& d) {
  fb::ExpandT t;
  t.shape = d.shape(0, 5, 7);
  return {"", case_attrs(t), {random_operand(d.narrowed(t.shape))}};
}

OpCase slice(Draw& d) {
  fb::SliceT t;
  const Dims shape = d.shape(1, 4, 12);
  for (int64_t extent : shape) {
    const int64_t start = d.in(0, extent), step = d.in(1, 3);
    const int64_t most = (extent - start + step - 1) / step;
    t.starts.push_back(start), t.steps.push_back(step),
        t.sizes.push_back(d.coin() ? most : d.in(0, most));
  }
  return {"", case_attrs(t), {random_operand(shape)}};
}

OpCase concat(Draw& d) {
  fb::ConcatT t;
  Dims shape = d.shape(1, 4, 7);
  t.axis = static_cast<int>(d.in(0, static_cast<int64_t>(shape.size()) - 1));
  OpCase c = {"", case_attrs(t), {}};
  for (int64_t i = d.in(1, 6); i > 0; --i) {
    shape[static_cast<size_t>(t.axis)] = d.extent(7);
    c.operands.push_back(random_operand(shape));
  }
  return c;
}

OpCase pad(Draw& d) {
  fb::PadT t;
  Dims shape = d.shape(1, 4, 7);
  t.mode = d.any(fb::PadMode::MAX);
  t.value = static_cast<double>(d.in(-3, 3));
  for (int64_t& extent : shape) {
    extent = std::max<int64_t>(extent, 1);
    const bool constant = t.mode == fb::PadMode::Constant;
    const int64_t least = constant ? -(extent / 2) : 0;
    const int64_t most = t.mode == fb::PadMode::Reflect ? extent - 1 : extent;
    t.before.push_back(d.in(least, most)), t.after.push_back(d.in(least, most));
  }
  return {"", case_attrs(t), {random_operand(shape)}};
}

OpCase index_select(Draw& d) {
  fb::IndexSelectT t;
  Dims shape = d.shape(1, 3, 9);
  t.axis = static_cast<int>(d.in(0, static_cast<int64_t>(shape.size()) - 1));
  int64_t& extent = shape[static_cast<size_t>(t.axis)];
  extent = std::max<int64_t>(extent, 1);
  const DType dtype = d.coin() ? DType::kInt64 : DType::kInt32;
  t.from_end = d.coin();
  const Fill ids = Fill::integers(t.from_end ? -extent : 0, extent - 1);
  return {"", case_attrs(t), {random_operand(shape), random_operand(d.shape(0, 3, 5), ids, dtype)}};
}

OpCase upsample2d(Draw& d) {
  fb::Upsample2dT t;
  t.mode = d.any(fb::UpsampleMode::MAX);
  t.align_corners =
      t.mode != fb::UpsampleMode::Nearest && t.mode != fb::UpsampleMode::NearestExact && d.coin();
  t.out_h = static_cast<int>(d.in(1, 12)), t.out_w = static_cast<int>(d.in(1, 12));
  return {"", case_attrs(t), {random_operand({d.extent(2), d.in(1, 7), d.in(1, 7), d.extent(9)})}};
}

OpCase grid_sample(Draw& d) {
  fb::GridSampleT t;
  t.mode = d.any(fb::SampleMode::MAX), t.padding = d.any(fb::SamplePadding::MAX);
  t.align_corners = d.coin();
  const int64_t dims = t.mode != fb::SampleMode::Bicubic && d.coin(4) ? 3 : 2;
  Dims x = {d.extent(2)}, grid = x;
  for (int64_t i = 0; i < dims; ++i) x.push_back(d.in(1, 7)), grid.push_back(d.extent(6));
  x.push_back(d.extent(20)), grid.push_back(dims);
  return {"", case_attrs(t), {random_operand(x), random_operand(grid, Fill::uniform(-1.7, 1.7))}};
}

/// Elements small beside 1, so that substitution does not blow up differences of rounding.
OpCase triangular_solve(Draw& d) {
  fb::TriangularSolveT t;
  t.upper = d.coin(), t.unit = true;
  Dims a = d.shape(0, 2, 3);
  const int64_t size = d.in(1, 20);
  a.insert(a.end(), {size, size});
  Dims b = a;
  b.back() = d.in(1, 40);
  return {"", case_attrs(t), {random_operand(a, Fill::normal(0, 0.1)), random_operand(b)}, 1e-4};
}

template <class Table>
OpCase rnn(Draw& d, int gates, int states) {
  Table t;
  t.layers = static_cast<int>(d.in(1, 2)), t.bidirectional = d.coin(), t.batch_first = d.coin(),
  t.has_bias = !d.coin(4);
  const int64_t time = d.in(1, 6), batch = d.in(1, 3), input = d.in(1, 9), hidden = d.in(1, 17);
  const int64_t directions = t.bidirectional ? 2 : 1, cells = t.layers * directions;
  OpCase c = {"", case_attrs(t), {}, 2e-5};
  c.operands.push_back(t.batch_first ? random_operand({batch, time, input})
                                     : random_operand({time, batch, input}));
  for (int i = 0; i < states; ++i) c.operands.push_back(random_operand({cells, batch, hidden}));
  for (int64_t cell = 0; cell < cells; ++cell) {
    c.operands.push_back(
        weight_operand({gates * hidden, cell < directions ? input : directions * hidden}));
    c.operands.push_back(weight_operand({gates * hidden, hidden}));
    for (int i = 0; t.has_bias && i < 2; ++i)
      c.operands.push_back(weight_operand({gates * hidden}));
  }
  return c;
}
OpCase gru(Draw& d) { return rnn<fb::GruT>(d, 3, 1); }
OpCase lstm(Draw& d) { return rnn<fb::LstmT>(d, 4, 2); }

const std::map<OpAttrs, OpCase (*)(Draw&)>& generators() {
  static const std::map<OpAttrs, OpCase (*)(Draw&)> all = {
      {OpAttrs::Unary, unary},
      {OpAttrs::Binary, binary},
      {OpAttrs::Where, where},
      {OpAttrs::Cast, cast},
      {OpAttrs::Conv2d, conv2d},
      {OpAttrs::ConvTranspose2d, conv<fb::ConvTranspose2dT>},
      {OpAttrs::Linear, linear},
      {OpAttrs::MatMul, matmul},
      {OpAttrs::MaxPool2d, pool<fb::MaxPool2dT>},
      {OpAttrs::AvgPool2d, pool<fb::AvgPool2dT>},
      {OpAttrs::AdaptiveAvgPool2d, adaptive_avg_pool2d},
      {OpAttrs::Reduce, reduce},
      {OpAttrs::CumSum, cum_sum},
      {OpAttrs::Gather, gather},
      {OpAttrs::Scatter, scatter},
      {OpAttrs::TopK, top_k},
      {OpAttrs::Scan, scan},
      {OpAttrs::Softmax, softmax},
      {OpAttrs::LayerNorm, layer_norm},
      {OpAttrs::RmsNorm, rms_norm},
      {OpAttrs::GroupNorm, group_norm},
      {OpAttrs::BatchNorm, batch_norm},
      {OpAttrs::Permute, permute},
      {OpAttrs::Expand, expand},
      {OpAttrs::Slice, slice},
      {OpAttrs::Concat, concat},
      {OpAttrs::Pad, pad},
      {OpAttrs::IndexSelect, index_select},
      {OpAttrs::Upsample2d, upsample2d},
      {OpAttrs::GridSample, grid_sample},
      {OpAttrs::TriangularSolve, triangular_solve},
      {OpAttrs::Gru, gru},
      {OpAttrs::Lstm, lstm}};
  return all;
}

}  // namespace

CaseList random_cases(fb::OpAttrs op, int count, uint64_t seed) {
  CaseList cases;
  const auto found = generators().find(op);
  if (found == generators().end()) return cases;
  Draw draw(seed);
  for (int i = 0; i < count; ++i) {
    cases.push_back(found->second(draw));
    cases.back().name = "random_" + std::to_string(i);
  }
  return cases;
}

}  // namespace lazyrt
