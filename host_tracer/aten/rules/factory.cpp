// Tensors made from no operands, computed here; triangles and diagonals.

#include <algorithm>
#include <cmath>
#include <functional>

#include "aten/rule_lists.h"

namespace lazyrt {
namespace {

using fb::BinaryFn;

template <int kValue>
void filled(RuleContext& c) {
  c.set(c.filled(c.out_dtype(), c.out_shape(), kValue));
}

/// A known number makes a constant, a computed one is expanded.
void set_filled_with(RuleContext& c, const char* name) {
  const ValueId value = c.cast(c.operand(name), c.out_dtype());
  const auto known = c.constant_values(value);
  if (!known || known->size() != 1) return c.set(c.expand(value, c.out_shape()));
  c.set(c.filled(c.out_dtype(), c.out_shape(), (*known)[0]));
}

void full(RuleContext& c) { set_filled_with(c, "fill_value"); }
void fill(RuleContext& c) { set_filled_with(c, "value"); }

void scalar_tensor(RuleContext& c) { c.set(c.scalar(c.out_dtype(), c.number("s"))); }

/// A vector by a function of the position.
void set_series(RuleContext& c, const std::function<Scalar(int64_t)>& element) {
  std::vector<Scalar> values;
  const int64_t n = c.out_shape().numel();
  for (int64_t i = 0; i < n; ++i) values.push_back(element(i));
  c.set(c.constant(c.out_dtype(), c.out_shape(), values));
}

/// Element i of n as ATen's CPU kernel computes it on x86-64: two vectors of eight at a time,
/// counted from the f32 with which the vector begins; the elements left over are counted from the
/// start, in f64.
double arange_of_f32(double start, double step, int64_t n, int64_t i) {
  constexpr int64_t kVector = 8;
  const auto at = [&](int64_t k) { return start + step * static_cast<double>(k); };
  if (i >= n - n % (2 * kVector)) return at(i);
  const auto base = static_cast<float>(at(i - i % kVector));
  return static_cast<double>(base) + step * static_cast<double>(i % kVector);
}

void arange(RuleContext& c) {
  const Scalar start = c.number_or("start", 0);
  const Scalar step = c.number_or("step", 1);
  if (c.any_size() && !(start.as_double() == 0 && step.as_double() == 1)) {
    const bool real = is_floating(c.out_dtype());
    const DType dtype = real ? DType::kFloat64 : DType::kInt64;
    const auto number = [&](const Scalar& value) {
      return real ? c.scalar(dtype, value.as_double()) : c.scalar(dtype, value.as_int());
    };
    const ValueId steps = c.cast(c.sequence({c.out_shape().numel()}), dtype);
    const ValueId scaled = c.binary(BinaryFn::Mul, steps, number(step));
    return c.set(c.cast(c.binary(BinaryFn::Add, scaled, number(start)), c.out_dtype()));
  }
  const int64_t n = c.out_shape().numel();
  if (c.out_dtype() == DType::kFloat32) {
    return set_series(c, [&](int64_t i) -> Scalar {
      return arange_of_f32(start.as_double(), step.as_double(), n, i);
    });
  }
  if (is_floating(c.out_dtype())) {
    return set_series(c, [&](int64_t i) -> Scalar {
      return start.as_double() + static_cast<double>(i) * step.as_double();
    });
  }
  set_series(c, [&](int64_t i) -> Scalar { return start.as_int() + i * step.as_int(); });
}

/// Counts from the nearer end, as ATen does, so that both ends are exact. In f32 (T: float) each
/// element is rounded once, as the vector units of x86-64 and Arm do.
template <class T>
T linspace_at(T start, T end, int64_t n, int64_t i) {
  if (n == 1) return start;
  const T step = (end - start) / static_cast<T>(n - 1);
  if (i < n / 2) return std::fma(step, static_cast<T>(i), start);
  return std::fma(-step, static_cast<T>(n - 1 - i), end);
}

double linspace_of(DType dtype, double start, double end, int64_t n, int64_t i) {
  if (dtype != DType::kFloat32) return linspace_at(start, end, n, i);
  return linspace_at(static_cast<float>(start), static_cast<float>(end), n, i);
}

/// The numbers of a series, computed by operators as ATen computes them: in `dtype`, or in f32 for
/// a 16-bit type. So each number is rounded as ATen's is, and a program may take its floor.
class Series {
 public:
  Series(RuleContext& c, DType dtype)
      : c_(c), dtype_(is_short(dtype) ? DType::kFloat32 : DType::kFloat64) {}

  ValueId positions(int64_t n) { return c_.cast(c_.sequence({n}), dtype_); }
  /// Casts here, so that a number made from sizes is known as it is in f64.
  ValueId number(double value) { return c_.cast(c_.scalar(DType::kFloat64, value), dtype_); }
  ValueId add(ValueId a, ValueId b) { return c_.binary(BinaryFn::Add, a, b); }
  ValueId subtract(ValueId a, ValueId b) { return c_.binary(BinaryFn::Sub, a, b); }
  ValueId multiply(ValueId a, ValueId b) { return c_.binary(BinaryFn::Mul, a, b); }
  ValueId divide(ValueId a, ValueId b) { return c_.binary(BinaryFn::Div, a, b); }
  ValueId scaled(ValueId a, double factor) { return multiply(a, number(factor)); }
  ValueId plus(ValueId a, double more) { return add(a, number(more)); }
  ValueId apply(fb::UnaryFn fn, ValueId a) { return c_.unary(fn, a); }
  DType dtype() const { return dtype_; }

 private:
  static bool is_short(DType dtype) { return is_floating(dtype) && dtype != DType::kFloat64; }

  RuleContext& c_;
  DType dtype_;
};

/// The same by operators. The step is rounded to the series' type; for f32, product and sum are
/// rounded once (the vector units of x86-64 and Arm fuse them), because they are computed in f64. A
/// series of one element has no step: at that size the program is another one.
ValueId computed_linspace(RuleContext& c) {
  const int64_t n = c.out_shape().numel();
  Series series(c, c.out_dtype());
  const auto end = [&](const char* name) {
    return c.is_tensor(name) ? c.cast(c.reshape(c.tensor(name), {}), series.dtype())
                             : series.number(c.number(name).as_double());
  };
  const ValueId first = end("start"), last = end("end");
  if (n <= 1) return c.expand(c.cast(first, DType::kFloat64), {n});
  const ValueId steps = c.cast(c.constant_ints({}, {n - 1}), series.dtype());
  const auto wide = [&](ValueId x) { return c.cast(x, DType::kFloat64); };
  const ValueId step = wide(series.divide(series.subtract(last, first), steps));
  const ValueId i = c.sequence({n});
  const ValueId left = c.binary(BinaryFn::Sub, c.constant_ints({}, {n - 1}), i);
  const auto scaled = [&](ValueId count) { return c.binary(BinaryFn::Mul, wide(count), step); };
  return c.where(c.binary_number(BinaryFn::Lt, i, n / 2),
                 c.binary(BinaryFn::Add, scaled(i), wide(first)),
                 c.binary(BinaryFn::Sub, wide(last), scaled(left)));
}

bool is_computed_series(RuleContext& c) {
  return c.any_size() || c.is_tensor("start") || c.is_tensor("end");
}

void linspace(RuleContext& c) {
  if (is_computed_series(c)) return c.set(c.cast(computed_linspace(c), c.out_dtype()));
  const double start = c.number("start").as_double();
  const double end = c.number("end").as_double();
  const int64_t n = c.out_shape().numel();
  const DType dtype = c.out_dtype();
  set_series(c, [=](int64_t i) -> Scalar { return linspace_of(dtype, start, end, n, i); });
}

void logspace(RuleContext& c) {
  const double base = c.number_or("base", 10.0).as_double();
  if (is_computed_series(c)) {
    const ValueId exponent = computed_linspace(c);
    const ValueId power = c.binary(BinaryFn::Pow, c.scalar(DType::kFloat64, base), exponent);
    return c.set(c.cast(power, c.out_dtype()));
  }
  const double start = c.number("start").as_double();
  const double end = c.number("end").as_double();
  const int64_t n = c.out_shape().numel();
  const DType dtype = c.out_dtype();
  set_series(
      c, [=](int64_t i) -> Scalar { return std::pow(base, linspace_of(dtype, start, end, n, i)); });
}

/// The elements of a window as ATen makes it; a periodic window leaves out the last one. A window
/// of one element is 1. `last` is one less than the number of elements of the whole window.
using WindowOf = ValueId (*)(RuleContext& c, Series& series, int64_t n, int64_t last);

template <WindowOf kOf>
void window(RuleContext& c) {
  const int64_t n = c.out_shape().numel();
  if (n <= 1) return c.set(c.filled(c.out_dtype(), {n}, 1));
  Series series(c, c.out_dtype());
  const int64_t last = c.boolean_or("periodic", true) ? n : n - 1;
  c.set(c.cast(kOf(c, series, n, last), c.out_dtype()));
}

constexpr double kPi = 3.14159265358979323846;

ValueId cosine_of(Series& series, ValueId x, double factor) {
  return series.scaled(series.apply(fb::UnaryFn::Cos, x), factor);
}

ValueId raised_cosine(Series& series, int64_t n, int64_t last, double alpha, double beta) {
  const double scale = kPi * 2 / static_cast<double>(last);
  return series.plus(cosine_of(series, series.scaled(series.positions(n), scale), -beta), alpha);
}

ValueId hann(RuleContext&, Series& series, int64_t n, int64_t last) {
  return raised_cosine(series, n, last, 0.5, 0.5);
}

ValueId hamming(RuleContext& c, Series& series, int64_t n, int64_t last) {
  const double alpha = c.number_or("alpha", 0.54).as_double();
  return raised_cosine(series, n, last, alpha, c.number_or("beta", 0.46).as_double());
}

ValueId blackman(RuleContext&, Series& series, int64_t n, int64_t last) {
  const ValueId x = series.scaled(series.positions(n), kPi / static_cast<double>(last));
  const ValueId fast = cosine_of(series, series.scaled(x, 4), 0.08);
  return series.plus(series.subtract(fast, cosine_of(series, series.scaled(x, 2), 0.5)), 0.42);
}

ValueId bartlett(RuleContext& c, Series& series, int64_t n, int64_t last) {
  const ValueId rise = series.scaled(series.positions(n), 2 / static_cast<double>(last));
  return c.where(c.binary_number(BinaryFn::Lt, c.sequence({n}), last / 2 + 1), rise,
                 series.plus(series.scaled(rise, -1), 2));
}

ValueId kaiser(RuleContext& c, Series& series, int64_t n, int64_t last) {
  const double middle = static_cast<double>(last) / 2;
  const ValueId beta = series.number(c.number_or("beta", 12.0).as_double());
  const ValueId side =
      series.divide(series.plus(series.positions(n), -middle), series.number(middle));
  const ValueId square = series.multiply(side, side);
  const ValueId root = series.apply(fb::UnaryFn::Sqrt, series.subtract(series.number(1), square));
  const auto bessel = [&](ValueId x) { return series.apply(fb::UnaryFn::I0, x); };
  return series.divide(bessel(series.multiply(beta, root)), bessel(beta));
}

/// i / (n d) from 0 on; fftfreq continues at its middle from the negative end.
template <bool kReal>
void frequencies(RuleContext& c) {
  const int64_t n = c.integer("n"), count = c.out_shape().numel();
  if (count == 0) return c.set(c.filled(c.out_dtype(), {0}, 0));
  const double width = static_cast<double>(n) * c.number_or("d", 1.0).as_double();
  ValueId i = c.sequence({count});
  if (!kReal) {
    const ValueId below = c.binary(BinaryFn::Sub, i, c.constant_ints({}, {n}));
    i = c.where(c.binary_number(BinaryFn::Lt, i, (n + 1) / 2), i, below);
  }
  Series series(c, c.out_dtype());
  c.set(c.cast(series.scaled(c.cast(i, series.dtype()), 1 / width), c.out_dtype()));
}

void eye(RuleContext& c) {
  const Shape s = c.out_shape();
  const int64_t columns = s.rank() == 2 ? s[1] : 1;
  set_series(c, [=](int64_t i) -> Scalar { return i / columns == i % columns; });
}

/// The rows, then the columns, of the positions in a triangle of [row, col].
template <bool kUpper>
void triangle_indices(RuleContext& c) {
  const int64_t rows = c.integer("row");
  const int64_t columns = c.integer("col");
  const int64_t offset = c.integer_or("offset", 0);
  std::vector<Scalar> row_ids;
  std::vector<Scalar> column_ids;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t k = 0; k < columns; ++k) {
      const bool in = kUpper ? k - r >= offset : k - r <= offset;
      if (!in) continue;
      row_ids.emplace_back(r);
      column_ids.emplace_back(k);
    }
  }
  const auto n = static_cast<int64_t>(row_ids.size());
  row_ids.insert(row_ids.end(), column_ids.begin(), column_ids.end());
  c.set(c.constant(c.out_dtype(), {2, n}, row_ids));
}

template <bool kUpper>
void triangle(RuleContext& c) {
  fb::TriangleT op;
  op.upper = kUpper;
  op.diagonal = c.integer_or("diagonal", 0);
  c.set(c.add(op, {c.tensor("self")}));
}

/// Adds zeros after the last element of the last dim.
ValueId pad_end(RuleContext& c, ValueId x, int64_t count) {
  if (count == 0) return x;
  fb::PadT op;
  op.before.assign(static_cast<size_t>(c.rank(x)), 0);
  op.after = op.before;
  if (!op.after.empty()) op.after.back() = count;
  return c.add(op, {x});
}

/// [..., n] on a diagonal of [..., n + |offset|, n + |offset|].
ValueId emit_diag(RuleContext& c, ValueId x, int64_t offset) {
  const int64_t n = c.dim(x, -1) + std::abs(offset);
  std::vector<Scalar> mask;
  for (int64_t r = 0; r < n; ++r) {
    for (int64_t k = 0; k < n; ++k) mask.emplace_back(k - r == offset);
  }
  const ValueId padded = pad_end(c, x, std::abs(offset));
  // Above the diagonal, an element's index is its row; below it, its column.
  const ValueId wide = c.unsqueeze(padded, offset >= 0 ? c.rank(x) : c.rank(x) - 1);
  return c.where(c.constant(DType::kBool, {n, n}, mask), wide, c.scalar(c.dtype(x), 0));
}

void diag_embed(RuleContext& c) {
  ValueId y = emit_diag(c, c.tensor("self"), c.integer_or("offset", 0));
  const int r = c.rank(y);
  const int a = c.axis(c.integer_or("dim1", -2), r);
  const int b = c.axis(c.integer_or("dim2", -1), r);
  std::vector<int> perm;
  int next = 0;
  for (int i = 0; i < r; ++i) perm.push_back(i == a ? r - 2 : i == b ? r - 1 : next++);
  c.set(c.permute(y, perm));
}

constexpr const char* kRandom =
    "is not supported: it draws random numbers; pass them in as an input of the model";

constexpr RuleEntry kFactoryEntries[] = {
    {"zeros", filled<0>},
    {"zeros_like", filled<0>},
    {"new_zeros", filled<0>},
    {"zero", filled<0>},
    {"_efficientzerotensor", filled<0>},
    {"empty", filled<0>},
    {"empty_like", filled<0>},
    {"empty_strided", filled<0>},
    {"empty_permuted", filled<0>},
    {"new_empty", filled<0>},
    {"new_empty_strided", filled<0>},
    {"ones", filled<1>},
    {"ones_like", filled<1>},
    {"new_ones", filled<1>},
    {"full", full},
    {"full_like", full},
    {"new_full", full},
    {"fill", fill},
    {"scalar_tensor", scalar_tensor},
    {"arange", arange},
    {"linspace", linspace},
    {"logspace", logspace},
    {"fft_fftfreq", frequencies<false>},
    {"fft_rfftfreq", frequencies<true>},
    {"hann_window", window<hann>},
    {"hamming_window", window<hamming>},
    {"blackman_window", window<blackman>},
    {"bartlett_window", window<bartlett>},
    {"kaiser_window", window<kaiser>},
    {"eye", eye},
    {"tril_indices", triangle_indices<false>},
    {"triu_indices", triangle_indices<true>},
    {"tril", triangle<false>},
    {"triu", triangle<true>},
    {"diag_embed", diag_embed},
    {"rand", nullptr, kRandom},
    {"rand_like", nullptr, kRandom},
    {"randn", nullptr, kRandom},
    {"randn_like", nullptr, kRandom},
    {"randint", nullptr, kRandom},
    {"randint_like", nullptr, kRandom},
    {"randperm", nullptr, kRandom},
    {"normal", nullptr, kRandom},
    {"normal_functional", nullptr, kRandom},
    {"uniform", nullptr, kRandom},
    {"bernoulli", nullptr, kRandom},
    {"multinomial", nullptr, kRandom},
    {"exponential", nullptr, kRandom},
    {"poisson", nullptr, kRandom},
};

}  // namespace

const RuleList factory_rules{kFactoryEntries};

}  // namespace lazyrt
