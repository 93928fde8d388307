#include "host_tracer/check/bound.h"

#include <ATen/ATen.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

namespace lazyrt {
namespace {

constexpr double kOfElement = 1e-5, kOfChannel = 1e-6;
constexpr double kTypical = 0.95;
constexpr int64_t kFewestInChannel = 16;
/// Multiples of the smallest number of float32: what rounding leaves there.
constexpr double kSmallest = 4.0 * std::numeric_limits<float>::denorm_min();

/// `reduce(flat [channels, elements])` over the channels along `dim`, broadcast over x.
template <class Reduce>
at::Tensor over_channels(const at::Tensor& x, int64_t dim, const Reduce& reduce) {
  const int64_t channels = x.size(dim);
  const at::Tensor flat = x.transpose(0, dim).reshape({channels, -1});
  std::vector<int64_t> shape(static_cast<size_t>(x.dim()), 1);
  shape[static_cast<size_t>(dim)] = channels;
  return reduce(flat).reshape(shape).expand_as(x);
}

template <class Reduce>
at::Tensor of_channels(const at::Tensor& x, const Reduce& reduce) {
  std::vector<int64_t> dims;
  if (x.dim() >= 3) dims.push_back(1);
  if (x.dim() >= 2) dims.push_back(x.dim() - 1);
  at::Tensor result;
  for (const int64_t dim : dims) {
    if (x.numel() < x.size(dim) * kFewestInChannel) continue;
    const at::Tensor one = over_channels(x, dim, reduce);
    result = result.defined() ? at::minimum(result, one) : one;
  }
  if (result.defined()) return result;
  return reduce(x.reshape({1, -1})).reshape(std::vector<int64_t>(x.dim(), 1)).expand_as(x);
}

at::Tensor finite_size(const at::Tensor& x) {
  return at::where(at::isfinite(x), x.abs(), at::zeros({}, x.options()));
}

/// For each row of [rows, elements]: the value that 19 of 20 elements do not exceed, among those
/// that are not 0; 0 if all are. If not `whole`, elements that are 0 count too, because they may
/// still grow.
at::Tensor upper_of_rows(const at::Tensor& flat, bool whole) {
  const int64_t n = flat.size(1);
  const at::Tensor zeros = (flat == 0).sum(1, /*keepdim=*/true);
  if (!whole || !zeros.any().item<bool>()) {
    const auto rank = static_cast<int64_t>(std::floor(static_cast<double>(n - 1) * kTypical));
    return std::get<0>(flat.kthvalue(rank + 1, 1));
  }
  const at::Tensor sorted = std::get<0>(flat.sort(1));
  const at::Tensor rank =
      (zeros + (n - 1 - zeros).to(at::kDouble) * kTypical).floor().to(at::kLong);
  return sorted.gather(1, rank.clamp_max(n - 1)).squeeze(1);
}

/// The typical wobble around an element: that of its channel and that of its row (one token may be
/// rounded more than the others).
at::Tensor typical(const at::Tensor& wobble, bool whole) {
  const auto upper = [whole](const at::Tensor& flat) { return upper_of_rows(flat, whole); };
  const at::Tensor known = finite_size(wobble);
  const at::Tensor channels = of_channels(known, upper);
  const int64_t last = wobble.dim() - 1;
  if (last < 1 || wobble.size(last) < kFewestInChannel) return channels;
  const at::Tensor rows = upper(known.reshape({-1, wobble.size(last)}));
  return at::maximum(channels, rows.reshape(wobble.sizes().slice(0, last)).unsqueeze(last));
}

/// |ours - eager's|: 0 for equal elements, infinity for a number and a NaN or for different
/// infinities.
at::Tensor error_of(const at::Tensor& ours, const at::Tensor& eager) {
  const at::Tensor same =
      at::logical_or(ours == eager, at::logical_and(at::isnan(ours), at::isnan(eager)));
  const double inf = std::numeric_limits<double>::infinity();
  const at::Tensor error = (ours - eager).abs().nan_to_num(inf, inf, inf);
  return error.masked_fill(same, 0);
}

std::string index_text(at::IntArrayRef sizes, int64_t flat) {
  std::string text;
  for (size_t d = sizes.size(); d-- > 0;) {
    std::string place = std::to_string(flat % sizes[d]);
    if (!text.empty()) place.append(",").append(text);
    text = std::move(place);
    flat /= sizes[d];
  }
  return "[" + text + "]";
}

template <class T>
std::string worst_text(at::IntArrayRef sizes, int64_t flat, const at::Tensor& ours,
                       const at::Tensor& eager, const char* format) {
  char text[96];
  std::snprintf(text, sizeof text, format, ours.reshape({-1})[flat].item<T>(),
                eager.reshape({-1})[flat].item<T>());
  return (sizes.empty() ? "it" : "element " + index_text(sizes, flat)) + text;
}

/// Without the sign of a NaN.
at::Tensor unsigned_nan(const at::Tensor& x) { return at::where(at::isnan(x), x.abs(), x); }

double largest(const at::Tensor& x) { return x.numel() == 0 ? 0 : x.max().item<double>(); }

/// Where x equals one of the `stacked` [runs, ...].
at::Tensor among(const at::Tensor& x, const at::Tensor& stacked) {
  return (stacked == x.unsqueeze(0)).any(0);
}

/// How many different values each element had in the runs.
at::Tensor distinct(const at::Tensor& stacked) {
  const at::Tensor sorted = std::get<0>(stacked.sort(0));
  const int64_t runs = stacked.size(0);
  return (sorted.slice(0, 1) != sorted.slice(0, 0, runs - 1)).sum(0) + 1;
}

/// Elements of a discrete result that rounding changes in eager, if `given` is one of eager's
/// values. If an element had three or more values, others may exist: then it has to lie among those
/// of the whole result, or no further away than they are apart.
at::Tensor plausible(const at::Tensor& given, const Wobble& wobble) {
  if (wobble.seen.empty()) return at::zeros_like(given, at::kBool);
  const at::Tensor stacked = at::stack(wobble.seen).to(at::kLong), x = given.to(at::kLong);
  const at::Tensor low = stacked.amin(0), high = stacked.amax(0), apart = high - low;
  const at::Tensor near = at::logical_and(x >= low - apart, x <= high + apart);
  const at::Tensor within = at::logical_and(x >= low.min(), x <= high.max());
  const at::Tensor many = distinct(stacked) > 2;
  return at::logical_or(among(x, stacked), at::logical_and(many, at::logical_or(near, within)));
}

/// The same for floating elements that are finite or not depending on rounding.
at::Tensor plausible(const at::Tensor& x, const Wobble& wobble, const at::Tensor& bound) {
  if (wobble.seen.empty()) return at::zeros_like(x, at::kBool);
  const at::Tensor stacked = at::stack(wobble.seen), finite = at::isfinite(stacked);
  const double inf = std::numeric_limits<double>::infinity();
  const at::Tensor low = stacked.masked_fill(at::logical_not(finite), inf).amin(0);
  const at::Tensor high = stacked.masked_fill(at::logical_not(finite), -inf).amax(0);
  const at::Tensor slack = bound + (high - low) * kOfWobble + high.abs() * kOfElement;
  const at::Tensor near = at::logical_and(x >= low - slack, x <= high + slack);
  const at::Tensor as_nan = at::logical_and(at::isnan(x), at::isnan(stacked).any(0));
  const at::Tensor as_infinity = at::logical_and(at::isinf(x), at::isinf(stacked).any(0));
  return at::logical_or(at::logical_and(at::isfinite(x), near),
                        at::logical_or(as_nan, as_infinity));
}

/// How far all rows (the last dim) of a result move if some of them jump.
at::Tensor steady_bound(const at::Tensor& eager, const at::Tensor& wobble) {
  const at::Tensor steady = of_channels(wobble.nan_to_num(0, 0, 0), [](const at::Tensor& flat) {
    return std::get<0>(flat.median(1));
  });
  return bound_of(eager, {}) + steady * (4 * kOfWobble);
}

/// Elements of rows that stand in another place than eager's, where at least as many of eager's own
/// rows change places under rounding (what is selected by top-k comes in the order of scores that
/// nearly tie): each has to be one of the rows that eager gave. Where half of them all do, others
/// may have been selected: they have to lie among eager's.
at::Tensor exchanged(const at::Tensor& ours, const at::Tensor& eager, const at::Tensor& over,
                     const Wobble& wobble) {
  const at::Tensor none = at::zeros_like(over);
  if (eager.dim() < 2 || eager.size(-1) < 2) return none;
  const auto rows_of = [&](const at::Tensor& t) { return t.reshape({-1, eager.size(-1)}); };
  const at::Tensor bound = rows_of(steady_bound(eager, wobble.size));
  const int64_t moved = (rows_of(wobble.size) > bound).any(1).sum().item<int64_t>();
  const at::Tensor bad = rows_of(over).any(1).nonzero().reshape({-1});
  if (moved < 2 || bad.numel() > moved) return none;
  std::vector<at::Tensor> runs = {rows_of(eager)};
  for (const at::Tensor& run : wobble.seen) runs.push_back(rows_of(run));
  const at::Tensor given = at::stack(runs);  // [runs, rows, elements]
  at::Tensor found = rows_of(none).clone();
  if (moved * 2 >= bound.size(0)) {
    const at::Tensor x = rows_of(ours);
    found = at::logical_and(x >= given.amin({0, 1}) - bound, x <= given.amax({0, 1}) + bound);
  }
  for (int64_t i = 0; i < bad.numel(); ++i) {
    const int64_t row = bad[i].item<int64_t>();
    const at::Tensor near = (given - rows_of(ours)[row]).abs() <= bound;
    found[row].logical_or_(near.all(2).any());
  }
  return at::logical_and(found.reshape(eager.sizes()), over);
}

Comparison compare_discrete(const at::Tensor& ours, const at::Tensor& eager, const Wobble& wobble) {
  Comparison result;
  at::Tensor differs = ours != eager;
  if (!differs.any().item<bool>()) return result;
  const at::Tensor undecided =
      at::logical_and(differs, at::logical_and(plausible(ours, wobble), plausible(eager, wobble)));
  result.undecided = undecided.sum().item<int64_t>();
  differs = at::logical_and(differs, at::logical_not(undecided));
  const at::Tensor error = (ours.to(at::kDouble) - eager.to(at::kDouble)).abs();
  result.max_absolute = largest(error.masked_fill(at::logical_not(differs), 0));
  result.max_value = largest(eager.to(at::kDouble).abs());
  result.over = differs.sum().item<int64_t>();
  result.ok = result.over == 0;
  if (result.ok) return result;
  result.of_bound = std::numeric_limits<double>::infinity();
  const int64_t first = differs.reshape({-1}).to(at::kByte).argmax().item<int64_t>();
  result.worst = worst_text<int64_t>(ours.sizes(), first, ours.to(at::kLong), eager.to(at::kLong),
                                     " is %ld, eager's %ld");
  return result;
}

/// Among floating elements `over` their bound: those at which eager's own elements jump as well.
at::Tensor undecided_of(const at::Tensor& ours, const at::Tensor& eager, const at::Tensor& over,
                        const Wobble& wobble, const at::Tensor& bound) {
  at::Tensor undecided = at::logical_and(over, at::logical_not(at::isfinite(wobble.size)));
  if (undecided.any().item<bool>()) {
    undecided.logical_and_(plausible(ours, wobble, bound));
    undecided.logical_and_(plausible(eager, wobble, bound));
  }
  // Rows that change places are recognized by the rows that do not, which may still move.
  const at::Tensor rest = at::logical_and(over, at::logical_not(undecided));
  if (!wobble.whole || !rest.any().item<bool>()) return undecided;
  return at::logical_or(undecided, exchanged(ours, eager, rest, wobble));
}

Comparison compare_floating(const at::Tensor& ours, const at::Tensor& eager, const Wobble& wobble) {
  Comparison result;
  const at::Tensor x = ours.to(at::kDouble), y = eager.to(at::kDouble);
  at::Tensor error = error_of(x, y);
  const at::Tensor bound = bound_of(y, wobble.size, wobble.whole);
  if (wobble.size.defined() && (error > bound).any().item<bool>()) {
    const at::Tensor undecided = undecided_of(x, y, error > bound, wobble, bound);
    result.undecided = undecided.sum().item<int64_t>();
    error = error.masked_fill(undecided, 0);
  }
  result.max_absolute = largest(error);
  result.max_value = largest(finite_size(y));
  result.over = (error > bound).sum().item<int64_t>();
  result.ok = result.over == 0;
  const at::Tensor share = (error / bound).reshape({-1});
  result.of_bound = largest(share);
  if (result.ok) return result;
  result.worst = worst_text<double>(ours.sizes(), share.argmax().item<int64_t>(), unsigned_nan(x),
                                    unsigned_nan(y), " is %.9g, eager's %.9g");
  return result;
}

}  // namespace

at::Tensor channel_maximum(const at::Tensor& x) {
  if (x.numel() == 0) return x;
  return of_channels(finite_size(x), [](const at::Tensor& flat) { return flat.amax(1); });
}

at::Tensor bound_of(const at::Tensor& eager, const at::Tensor& wobble, bool whole) {
  at::Tensor bound =
      finite_size(eager) * kOfElement + channel_maximum(eager) * kOfChannel + kSmallest;
  if (wobble.defined() && wobble.numel() > 0) {
    bound = bound + at::maximum(finite_size(wobble), typical(wobble, whole)) * kOfWobble;
  }
  return bound;
}

Comparison compare_results(const at::Tensor& ours, const at::Tensor& eager, const Wobble& wobble) {
  if (eager.numel() == 0) return {};
  return at::isFloatingType(eager.scalar_type()) ? compare_floating(ours, eager, wobble)
                                                 : compare_discrete(ours, eager, wobble);
}

}  // namespace lazyrt
