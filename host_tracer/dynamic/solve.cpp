#include "host_tracer/dynamic/solve.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

namespace lazyrt {
namespace {

using Op = fb::TermOp;

constexpr int64_t kMostSteps = 512;  ///< the largest d of (s+b)//d
constexpr int64_t kMostParts = 64;   ///< the largest d of (p*s+b)//d

}  // namespace

SizeSolver::SizeSolver(const std::vector<DimSymbol>& symbols, std::vector<SizePoint> points,
                       TermList* terms)
    : symbols_(symbols), points_(std::move(points)), terms_(terms) {
  for (size_t i = 0; i < points_[0].size(); ++i) {
    integer_terms_.push_back(terms_->symbol(static_cast<int>(i)));
  }
}

std::optional<TermId> SizeSolver::integers(const std::vector<int64_t>& values) {
  const auto it = known_.find(values);
  if (it != known_.end() && it->second) return it->second;
  const auto found = learn(values);
  if (!found && !wanted_) wanted_ = wanted_by_extent_;
  return found;
}

std::optional<TermId> SizeSolver::learn(const std::vector<int64_t>& values) {
  const auto found = find(values);
  known_[values] = found;
  if (found) integer_terms_.push_back(*found);
  return found;
}

void SizeSolver::note_extent(const std::vector<int64_t>& values) {
  if (known_.count(values) != 0) return;
  const auto wanted = std::exchange(wanted_, std::nullopt);
  learn(values);
  if (wanted_ && !wanted_by_extent_) wanted_by_extent_ = wanted_;
  wanted_ = wanted;
}

std::optional<TermId> SizeSolver::find(const std::vector<int64_t>& values) {
  const std::vector<int> symbols = symbols_in(values);
  if (symbols.empty()) {
    const bool constant =
        std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == values[0]; });
    return constant ? std::optional(terms_->integer(values[0])) : std::nullopt;
  }
  const auto term = of_symbols(values, symbols);
  return term && gives(*term, values) ? term : std::nullopt;
}

/// a*s + b*t + c
TermId SizeSolver::weighted(TermId s, TermId t, const std::array<int64_t, 3>& weights) {
  const auto [a, b, c] = weights;
  const TermId second = terms_->make(Op::Multiply, t, terms_->integer(b));
  const TermId first = terms_->make(Op::Multiply, s, terms_->integer(a));
  const TermId sum = a == 0 ? second : terms_->make(Op::Add, first, second);
  return terms_->make(Op::Add, sum, terms_->integer(c));
}

std::vector<int> SizeSolver::symbols_in(const std::vector<int64_t>& values) const {
  std::vector<int> found;
  for (int i = 0; i < static_cast<int>(points_[0].size()); ++i) {
    const auto series = series_of(values, i);
    if (std::any_of(series.begin(), series.end(),
                    [&](const Sample& x) { return x.v != values[0]; }))
      found.push_back(i);
  }
  return found;
}

bool SizeSolver::differs_only_in(const SizePoint& point, const std::vector<int>& symbols) const {
  for (int i = 0; i < static_cast<int>(point.size()); ++i) {
    const auto at = static_cast<size_t>(i);
    if (point[at] != points_[0][at] &&
        std::find(symbols.begin(), symbols.end(), i) == symbols.end())
      return false;
  }
  return true;
}

std::vector<SizeSolver::Sample> SizeSolver::series_of(const std::vector<int64_t>& values,
                                                      int symbol) const {
  std::vector<Sample> series;
  for (size_t k = 0; k < points_.size(); ++k) {
    if (differs_only_in(points_[k], {symbol}))
      series.push_back({points_[k][static_cast<size_t>(symbol)], values[k]});
  }
  std::sort(series.begin(), series.end(),
            [](const Sample& a, const Sample& b) { return a.s < b.s; });
  return series;
}

std::optional<TermId> SizeSolver::of_symbols(const std::vector<int64_t>& values,
                                             std::vector<int> symbols) {
  if (symbols.size() == 1) return of_symbol(symbols[0], series_of(values, symbols[0]));
  return separated(values, symbols);
}

int64_t SizeSolver::Steps::at(int64_t s) const {
  const int64_t t = p * s + b, quotient = floor_divide(t, d);
  const double product = static_cast<double>(s) * r;
  switch (kind) {
    case Kind::kQuotient:
      return a * quotient + c;
    case Kind::kRemainder:
      return a * (t - quotient * d) + c;
    case Kind::kFloor:
      return static_cast<int64_t>(std::floor(product)) + c;
    case Kind::kCeil:
      return static_cast<int64_t>(std::ceil(product)) + c;
    default:
      return static_cast<int64_t>(std::nearbyint(product)) + c;
  }
}

std::optional<TermNumber> SizeSolver::number_at(TermId term, int symbol, int64_t size) const {
  SizePoint point = points_[0];
  point[static_cast<size_t>(symbol)] = size;
  return terms_->evaluate(term, point);
}

/// The symbol itself, then other numbers that vary with it alone, the latest first.
std::optional<TermId> SizeSolver::of_symbol(int symbol, const std::vector<Sample>& series) {
  constexpr size_t kMostArguments = 24;
  asks_ = false;
  const Argument itself = {symbol, terms_->symbol(symbol)};
  if (auto term = of_argument(itself, series); term || asks_) return term;
  const std::vector<TermId> known = integer_terms_;
  size_t tried = 0;
  for (size_t i = known.size(); i-- > 0 && tried < kMostArguments;) {
    const Argument of = {symbol, known[i]};
    const auto over = series_over(of, series);
    if (!over) continue;
    ++tried;
    if (auto term = of_argument(of, *over); term || asks_) return term;
  }
  if (auto term = combined(symbol, series); term || asks_) return term;
  ask_between(symbol, series);
  return std::nullopt;
}

/// If few sizes are known yet: asks for the one next to the least, where a bound shows (`max(1, n
/// // 2)`), then for the middle of the widest gap.
void SizeSolver::ask_between(int symbol, const std::vector<Sample>& series) {
  constexpr size_t kEnough = 16;
  if (series.size() < 2 || series.size() >= kEnough) return;
  const DimSymbol& range = symbols_[static_cast<size_t>(symbol)];
  size_t widest = 1;
  for (size_t i = 2; i < series.size(); ++i) {
    if (series[i].s - series[i - 1].s > series[widest].s - series[widest - 1].s) widest = i;
  }
  const bool is_alone = series[0].s == range.min && series[1].s > range.min + range.multiple;
  const int64_t low = is_alone ? range.min : series[widest - 1].s;
  const int64_t steps = is_alone ? 2 : (series[widest].s - low) / range.multiple;
  if (steps < 2) return;
  asks_ = true;
  wanted_ = points_[0];
  (*wanted_)[static_cast<size_t>(symbol)] = low + steps / 2 * range.multiple;
}

/// The series as a function of the argument's values; nothing if it is not one, or if these values
/// are the symbol's own or too few.
std::optional<std::vector<SizeSolver::Sample>> SizeSolver::series_over(
    const Argument& of, const std::vector<Sample>& series) const {
  std::vector<Sample> over;
  bool same = true;
  for (const Sample& x : series) {
    const auto number = number_at(of.term, of.symbol, x.s);
    if (!number || number->is_real) return std::nullopt;
    same = same && number->integer == x.s;
    over.push_back({number->integer, x.v});
  }
  if (same) return std::nullopt;
  std::sort(over.begin(), over.end(), [](const Sample& a, const Sample& b) {
    return a.s < b.s || (a.s == b.s && a.v < b.v);
  });
  const auto last = std::unique(over.begin(), over.end(), [](const Sample& a, const Sample& b) {
    return a.s == b.s && a.v == b.v;
  });
  over.erase(last, over.end());
  for (size_t i = 1; i < over.size(); ++i) {
    if (over[i].s == over[i - 1].s) return std::nullopt;
  }
  if (over.size() < 4) return std::nullopt;
  return over;
}

std::optional<TermId> SizeSolver::of_argument(const Argument& of,
                                              const std::vector<Sample>& series) {
  if (series.size() < 2) return std::nullopt;
  for (const auto& way : {&SizeSolver::affine, &SizeSolver::powers, &SizeSolver::stepped,
                          &SizeSolver::bounded, &SizeSolver::squared}) {
    const auto term = (this->*way)(of, series);
    if (term || asks_) return term;
  }
  return std::nullopt;
}

/// a*s + c
std::optional<SizeSolver::Steps> SizeSolver::line_of(const std::vector<Sample>& series) {
  const Sample &first = series.front(), &last = series.back();
  if ((last.v - first.v) % (last.s - first.s) != 0) return std::nullopt;
  Steps line;
  line.a = (last.v - first.v) / (last.s - first.s);
  line.c = first.v - line.a * first.s;
  for (const Sample& x : series) {
    if (line.at(x.s) != x.v) return std::nullopt;
  }
  return line;
}

std::optional<TermId> SizeSolver::affine(const Argument& of, const std::vector<Sample>& series) {
  const auto line = line_of(series);
  return line ? std::optional(term_of(of, *line)) : std::nullopt;
}

/// Finds quotients, roundings and remainders, if all that fit are the same function.
std::optional<TermId> SizeSolver::steps_of(const Argument& of, const std::vector<Sample>& series,
                                           bool is_part) {
  std::vector<Steps> fits;
  add_steps(series, &fits);
  add_ratios(series, &fits);
  add_decimals(series, &fits);
  std::vector<TermId> others;
  if (fits.empty()) {
    add_remainders(series, &fits);
    if (fits.empty()) return std::nullopt;
    if (const auto other = bounded(of, series)) others.push_back(*other);
  }
  if (const auto size = size_apart(of, fits, others, is_part ? series : std::vector<Sample>())) {
    asks_ = true;
    wanted_ = points_[0];
    (*wanted_)[static_cast<size_t>(of.symbol)] = *size;
    return std::nullopt;
  }
  if (!is_part && ask_end(of, series)) return std::nullopt;
  return term_of(of, fits.front());
}

/// Asks for the least or the largest size, where a bound would show (`max(1, n // 10)`).
bool SizeSolver::ask_end(const Argument& of, const std::vector<Sample>& series) {
  const DimSymbol& range = symbols_[static_cast<size_t>(of.symbol)];
  if (of.term != terms_->symbol(of.symbol)) return false;
  for (const int64_t end : {range.min, range.max}) {
    if (series.front().s == end || series.back().s == end) continue;
    asks_ = true;
    wanted_ = points_[0];
    (*wanted_)[static_cast<size_t>(of.symbol)] = end;
    return true;
  }
  return false;
}

std::optional<TermId> SizeSolver::stepped(const Argument& of, const std::vector<Sample>& series) {
  return steps_of(of, series, /*is_part=*/false);
}

TermId SizeSolver::term_of(const Argument& of, const Steps& x) {
  using Kind = Steps::Kind;
  if (x.kind == Kind::kQuotient || x.kind == Kind::kRemainder) {
    const TermId part = terms_->make(Op::Multiply, of.term, terms_->integer(x.p));
    const TermId shifted = terms_->make(Op::Add, part, terms_->integer(x.b));
    const Op op = x.kind == Kind::kQuotient ? Op::FloorDivide : Op::Remainder;
    const TermId steps = terms_->make(op, shifted, terms_->integer(x.d));
    const TermId scaled = terms_->make(Op::Multiply, steps, terms_->integer(x.a));
    return terms_->make(Op::Add, scaled, terms_->integer(x.c));
  }
  const bool up = x.kind == Kind::kCeil;  // -floor(-x)
  const TermId product = terms_->make(Op::Multiply, of.term, terms_->real(up ? -x.r : x.r));
  const TermId rounded = terms_->make(x.kind == Kind::kRound ? Op::Round : Op::Floor, product);
  const TermId whole = up ? terms_->make(Op::Multiply, rounded, terms_->integer(-1)) : rounded;
  return x.c == 0 ? whole : terms_->make(Op::Add, whole, terms_->integer(x.c));
}

/// a*((s+b)//d) + c
void SizeSolver::add_steps(const std::vector<Sample>& series, std::vector<Steps>* fits) {
  const Sample &first = series.front(), &last = series.back();
  for (int64_t d = 2; d <= kMostSteps; ++d) {
    // Between the ends are floor or ceil of (last.s - first.s) / d steps.
    const int64_t fewest = (last.s - first.s) / d, rise = last.v - first.v;
    for (const int64_t count : {fewest, fewest + 1}) {
      if (count == 0 || rise % count != 0) continue;
      Steps x = {rise / count, 0, 0, d, 1, Steps::Kind::kQuotient, 0};
      for (; x.a != 0 && x.b < d; ++x.b) {
        x.c = first.v - x.a * floor_divide(first.s + x.b, d);
        if (std::all_of(series.begin(), series.end(),
                        [&](const Sample& seen) { return x.at(seen.s) == seen.v; }))
          fits->push_back(x);
      }
    }
  }
}

/// (p*s+b)//d with p beyond 1: of all b that fit the smallest and the largest.
void SizeSolver::add_ratios(const std::vector<Sample>& series, std::vector<Steps>* fits) {
  const Sample &first = series.front(), &last = series.back();
  const int64_t run = last.s - first.s, rise = last.v - first.v;
  if (rise <= 0 || rise > run * 64) return;
  for (int64_t d = 2; d <= kMostParts; ++d) {
    const int64_t least = std::max<int64_t>(2, floor_divide((rise - 1) * d, run));
    for (int64_t p = least; p <= ((rise + 1) * d + run - 1) / run; ++p) {
      if (std::gcd(p, d) != 1) continue;
      int64_t lowest = INT64_MIN, highest = INT64_MAX;
      for (const Sample& x : series) {
        lowest = std::max(lowest, x.v * d - p * x.s);
        highest = std::min(highest, x.v * d + d - 1 - p * x.s);
      }
      if (lowest > highest) continue;
      for (const int64_t b : {lowest, highest})
        fits->push_back({1, b, 0, d, p, Steps::Kind::kQuotient, 0});
    }
  }
}

/// floor, ceil or round of s times a number of at most two decimals, plus a small c.
void SizeSolver::add_decimals(const std::vector<Sample>& series, std::vector<Steps>* fits) {
  constexpr int64_t kMostAdded = 64;
  const Sample &first = series.front(), &last = series.back();
  const int64_t run = last.s - first.s, rise = last.v - first.v;
  if (first.s <= 0 || rise <= 0) return;
  const int64_t least = std::max<int64_t>(1, 100 * (rise - 1) / run);
  const int64_t most = std::min<int64_t>(6400, 100 * (rise + 1) / run + 1);
  for (int64_t percent = least; percent <= most; ++percent) {
    if (percent % 100 == 0) continue;
    for (const auto kind : {Steps::Kind::kFloor, Steps::Kind::kCeil, Steps::Kind::kRound}) {
      Steps x;
      x.kind = kind;
      x.r = static_cast<double>(percent) / 100;
      x.c = first.v - x.at(first.s);
      if (std::abs(x.c) > kMostAdded) continue;
      if (std::all_of(series.begin(), series.end(),
                      [&](const Sample& seen) { return x.at(seen.s) == seen.v; }))
        fits->push_back(x);
    }
  }
}

/// a*((s+b)%d) + c; neighbours tell a.
void SizeSolver::add_remainders(const std::vector<Sample>& series, std::vector<Steps>* fits) {
  std::vector<int64_t> slopes;
  int64_t lowest = series[0].v, highest = series[0].v;
  for (size_t i = 0; i < series.size(); ++i) {
    lowest = std::min(lowest, series[i].v);
    highest = std::max(highest, series[i].v);
    if (i == 0 || series[i].v == series[i - 1].v) continue;
    const int64_t run = series[i].s - series[i - 1].s, rise = series[i].v - series[i - 1].v;
    if (rise % run == 0) slopes.push_back(rise / run);
  }
  std::sort(slopes.begin(), slopes.end());
  slopes.erase(std::unique(slopes.begin(), slopes.end()), slopes.end());
  for (const int64_t a : slopes) {
    for (int64_t d = std::max<int64_t>(2, (highest - lowest) / std::abs(a) + 1); d <= kMostSteps;
         ++d) {
      for (int64_t b = 0; b < d; ++b) {
        Steps x = {a, b, 0, d, 1, Steps::Kind::kRemainder, 0};
        x.c = series[0].v - x.at(series[0].s);
        if (std::all_of(series.begin(), series.end(),
                        [&](const Sample& seen) { return x.at(seen.s) == seen.v; }))
          fits->push_back(x);
      }
    }
  }
}

/// (a*s*s + b*s + c) // 2 of whole a, b, c, of at least five points.
std::optional<TermId> SizeSolver::squared(const Argument& of, const std::vector<Sample>& series) {
  if (series.size() < 5 || series.back().s > 1 << 20) return std::nullopt;
  const Sample &x = series[0], &y = series[series.size() / 2], &z = series.back();
  // Newton's divided differences of 2*v.
  const int64_t first = 2 * (y.v - x.v), second = 2 * (z.v - y.v);
  if (first % (y.s - x.s) != 0 || second % (z.s - y.s) != 0) return std::nullopt;
  const int64_t slope = first / (y.s - x.s), bend = second / (z.s - y.s) - slope;
  if (bend % (z.s - x.s) != 0) return std::nullopt;
  const int64_t a = bend / (z.s - x.s), b = slope - a * (x.s + y.s);
  const int64_t c = 2 * x.v - a * x.s * x.s - b * x.s;
  for (const Sample& seen : series) {
    if (a * seen.s * seen.s + b * seen.s + c != 2 * seen.v) return std::nullopt;
  }
  const TermId s = of.term;
  const TermId square =
      terms_->make(Op::Multiply, terms_->make(Op::Multiply, s, s), terms_->integer(a));
  const TermId line = terms_->make(Op::Multiply, s, terms_->integer(b));
  const TermId sum = terms_->make(Op::Add, terms_->make(Op::Add, square, line), terms_->integer(c));
  return terms_->make(Op::FloorDivide, sum, terms_->integer(2));
}

/// a*s + b*t + c, where t is the power of two at or above s, that at or below it, or the number of
/// bits of s or s - 1. A power is made of its steps: 1 + sum of 2^k * min(1, max(0, s - 2^k)).
std::optional<TermId> SizeSolver::powers(const Argument& of, const std::vector<Sample>& series) {
  if (series.size() < 8 || series.front().s < 1 || series.back().s > 1 << 16) return std::nullopt;
  const auto bits = [](int64_t s) {
    int64_t count = 0;
    for (; s > 0; s /= 2) ++count;
    return count;
  };
  for (const bool is_power : {true, false}) {
    for (const int64_t below : {int64_t{1}, int64_t{0}}) {
      std::vector<int64_t> t;
      for (const Sample& x : series) {
        const int64_t n = bits(x.s - below);
        t.push_back(is_power ? int64_t{1} << (n - 1 + below) : n);
      }
      const auto weights = weights_of(series, t);
      if (!weights) continue;
      TermId sum = terms_->integer(is_power || below == 0 ? 1 : 0);
      const TermId one = terms_->integer(1), zero = terms_->integer(0);
      for (int64_t k = is_power || below == 1 ? 0 : 1; (int64_t{1} << k) <= series.back().s; ++k) {
        // From 2^k on (below == 0), or beyond it.
        const int64_t power = int64_t{1} << k, step = is_power && below == 0 ? power / 2 : power;
        const TermId past = terms_->make(Op::Subtract, of.term, terms_->integer(power - 1 + below));
        const TermId on = terms_->make(Op::Min, one, terms_->make(Op::Max, zero, past));
        const TermId part = terms_->make(Op::Multiply, on, terms_->integer(is_power ? step : 1));
        if (step > 0) sum = terms_->make(Op::Add, sum, part);
      }
      const auto [a, b, c] = *weights;
      const TermId line = terms_->make(Op::Multiply, of.term, terms_->integer(a));
      const TermId steps = terms_->make(Op::Multiply, sum, terms_->integer(b));
      return terms_->make(Op::Add, terms_->make(Op::Add, line, steps), terms_->integer(c));
    }
  }
  return std::nullopt;
}

/// a*s + b*t + c with a number t known before, of at least five points.
std::optional<TermId> SizeSolver::combined(int symbol, const std::vector<Sample>& series) {
  if (series.size() < 5) return std::nullopt;
  const std::vector<TermId> known = integer_terms_;
  for (size_t i = known.size(); i-- > 0;) {
    std::vector<int64_t> t;
    for (const Sample& x : series) {
      const auto number = number_at(known[i], symbol, x.s);
      if (number && !number->is_real) t.push_back(number->integer);
    }
    if (t.size() != series.size()) continue;
    const auto weights = weights_of(series, t);
    if (weights) return weighted(terms_->symbol(symbol), known[i], *weights);
  }
  return beside(symbol, series);
}

/// t + steps of the symbol, with a number t known before (the begin and the end of a slice).
std::optional<TermId> SizeSolver::beside(int symbol, const std::vector<Sample>& series) {
  constexpr size_t kMostKnown = 8;
  const std::vector<TermId> known = integer_terms_;
  size_t tried = 0;
  for (size_t i = known.size(); i-- > 0 && tried < kMostKnown;) {
    std::vector<Sample> rest = series;
    bool varies = false;
    for (Sample& x : rest) {
      const auto number = number_at(known[i], symbol, x.s);
      if (!number || number->is_real) return std::nullopt;
      varies = varies || number->integer != x.s;
      x.v -= number->integer;
    }
    if (!varies) continue;
    ++tried;
    const Argument itself = {symbol, terms_->symbol(symbol)};
    const auto steps = steps_of(itself, rest, /*is_part=*/false);
    if (asks_) return std::nullopt;
    if (steps) return terms_->make(Op::Add, known[i], *steps);
  }
  return std::nullopt;
}

/// Whole a, b, c with a*s + b*t + c == v everywhere.
std::optional<std::array<int64_t, 3>> SizeSolver::weights_of(const std::vector<Sample>& series,
                                                             const std::vector<int64_t>& t) {
  const auto rise = [&](size_t k) {
    return std::array<int64_t, 3>{series[k].s - series[0].s, t[k] - t[0],
                                  series[k].v - series[0].v};
  };
  for (size_t k = 2; k < series.size(); ++k) {
    const auto p = rise(1), q = rise(k);
    const int64_t det = p[0] * q[1] - p[1] * q[0];
    if (det == 0) continue;
    const int64_t a = p[2] * q[1] - p[1] * q[2], b = p[0] * q[2] - p[2] * q[0];
    if (a % det != 0 || b % det != 0 || b == 0) return std::nullopt;
    const std::array<int64_t, 3> found = {a / det, b / det,
                                          series[0].v - a / det * series[0].s - b / det * t[0]};
    for (size_t j = 0; j < series.size(); ++j) {
      if (found[0] * series[j].s + found[1] * t[j] + found[2] != series[j].v) return std::nullopt;
    }
    return found;
  }
  return std::nullopt;
}

/// The size at which the fewest candidates agree; nothing if all agree everywhere.
std::optional<int64_t> SizeSolver::size_apart(const Argument& of, const std::vector<Steps>& fits,
                                              const std::vector<TermId>& others,
                                              const std::vector<Sample>& within) const {
  const DimSymbol& range = symbols_[static_cast<size_t>(of.symbol)];
  const int64_t count = std::min<int64_t>(range.count(), 1 << 14);
  const auto answer_of = [&](TermId other, int64_t size) {
    const auto number = number_at(other, of.symbol, size);
    return number ? number->integer : 0;
  };
  const auto argument_at = [&](int64_t size) {
    const auto number = number_at(of.term, of.symbol, size);
    return number ? number->integer : size;
  };
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t size = range.nth(range.count() <= count ? i : i * (range.count() / count));
    const int64_t s = argument_at(size);
    const int64_t answer = fits.empty() ? answer_of(others.front(), size) : fits.front().at(s);
    if (!within.empty() && (s < within.front().s || s > within.back().s)) continue;
    const bool agree =
        std::all_of(fits.begin(), fits.end(), [&](const Steps& x) { return x.at(s) == answer; }) &&
        std::all_of(others.begin(), others.end(),
                    [&](TermId x) { return answer_of(x, size) == answer; });
    // At 1 programs and rules take other ways; the smallest size is checked by a run.
    if (!agree && size > 1) sizes.push_back(size);
  }
  std::optional<int64_t> best;
  size_t most = fits.size() + others.size() + 1;
  const size_t stride = sizes.size() / 64 + 1;
  for (size_t i = 0; i < sizes.size(); i += stride) {
    std::map<int64_t, size_t> answers;
    const int64_t s = argument_at(sizes[i]);
    for (const Steps& x : fits) ++answers[x.at(s)];
    for (const TermId x : others) ++answers[answer_of(x, sizes[i])];
    size_t largest = 0;
    for (const auto& [answer, times] : answers) largest = std::max(largest, times);
    if (largest >= most) continue;
    most = largest;
    best = sizes[i];
  }
  return best;
}

/// Whether the term, of the same symbol as the argument, gives the series.
bool SizeSolver::gives_series(const Argument& of, TermId term,
                              const std::vector<Sample>& series) const {
  for (const SizePoint& point : points_) {
    if (!differs_only_in(point, {of.symbol})) continue;
    const auto argument = terms_->evaluate(of.term, point), number = terms_->evaluate(term, point);
    if (!argument || !number || number->is_real) return false;
    for (const Sample& x : series) {
      if (x.s == argument->integer && x.v != number->integer) return false;
    }
  }
  return true;
}

/// max(a*s + c, k) or min: constant at one end, at least three points on the slope and two beside.
std::optional<TermId> SizeSolver::bounded(const Argument& of, const std::vector<Sample>& series) {
  for (const bool at_end : {true, false}) {
    const int64_t k = at_end ? series.back().v : series.front().v;
    std::vector<Sample> slope;
    for (const Sample& x : series) {
      if (x.v != k) slope.push_back(x);
    }
    if (slope.size() < 3 || series.size() - slope.size() < 2) continue;
    auto rising = affine(of, slope);
    if (!rising && slope.size() > 3) rising = steps_of(of, slope, /*is_part=*/true);
    if (!rising) continue;
    const TermId term =
        terms_->make(slope.front().v > k ? Op::Max : Op::Min, *rising, terms_->integer(k));
    if (gives_series(of, term, series)) return term;
  }
  return std::nullopt;
}

/// The number c of (f(symbol) * g(others)) + c, by the points that move both; nothing for a sum.
std::optional<int64_t> SizeSolver::added_number(const std::vector<int64_t>& values, int symbol,
                                                const std::vector<int>& others) const {
  const auto value_at = [&](const SizePoint& point) -> std::optional<int64_t> {
    for (size_t k = 0; k < points_.size(); ++k) {
      if (points_[k] == point) return values[k];
    }
    return std::nullopt;
  };
  const auto s = static_cast<size_t>(symbol);
  std::optional<int64_t> number;
  for (size_t k = 0; k < points_.size(); ++k) {
    std::vector<int> all = others;
    all.push_back(symbol);
    if (points_[k][s] == points_[0][s] || !differs_only_in(points_[k], all)) continue;
    SizePoint mine = points_[0], theirs = points_[k];
    mine[s] = points_[k][s];
    theirs[s] = points_[0][s];
    if (theirs == points_[0]) continue;
    const auto p = value_at(mine), q = value_at(theirs);
    if (!p || !q) continue;
    const int64_t below = values[k] + values[0] - *p - *q;
    if (below == 0) continue;
    const int64_t above = values[k] * values[0] - *p * *q;
    if (above % below != 0) return std::nullopt;
    if (number && *number != above / below) return std::nullopt;
    number = above / below;
  }
  return number;
}

std::optional<TermId> SizeSolver::separated(const std::vector<int64_t>& values,
                                            const std::vector<int>& symbols) {
  for (size_t i = 0; i < symbols.size(); ++i) {
    std::vector<int> others = symbols;
    others.erase(others.begin() + static_cast<ptrdiff_t>(i));
    // A product and a number; then a sum.
    if (const auto c = added_number(values, symbols[i], others)) {
      std::vector<int64_t> without = values;
      for (int64_t& v : without) v -= *c;
      const int64_t base = without[0];
      auto series = series_of(without, symbols[i]);
      int64_t mine = 0, theirs = 0;
      for (const Sample& x : series) mine = std::gcd(mine, x.v);
      std::vector<int64_t> rest(points_.size());
      for (size_t k = 0; k < points_.size(); ++k) {
        SizePoint at = points_[k];
        if (differs_only_in(at, others)) theirs = std::gcd(theirs, without[k]);
      }
      if (base == 0 || mine == 0 || theirs == 0) continue;
      for (Sample& x : series) x.v /= mine;
      for (size_t k = 0; k < points_.size(); ++k) rest[k] = without[k] / theirs;
      // base = factor * (base / mine) * (base / theirs)
      const int64_t product = (base / mine) * (base / theirs);
      if (product == 0 || base % product != 0) continue;
      const auto f = of_symbol(symbols[i], series);
      const auto g = f ? of_symbols(rest, others) : std::nullopt;
      if (!g) continue;
      const TermId both = terms_->make(Op::Multiply, *f, *g);
      const TermId scaled = terms_->make(Op::Multiply, both, terms_->integer(base / product));
      return terms_->make(Op::Add, scaled, terms_->integer(*c));
    }
    const auto f = of_symbol(symbols[i], series_of(values, symbols[i]));
    const auto g = f ? of_symbols(values, others) : std::nullopt;
    if (!g) continue;
    const TermId sum = terms_->make(Op::Add, *f, *g);
    return terms_->make(Op::Subtract, sum, terms_->integer(values[0]));
  }
  return std::nullopt;
}

bool SizeSolver::gives(TermId term, const std::vector<int64_t>& values) const {
  for (size_t k = 0; k < points_.size(); ++k) {
    const auto number = terms_->evaluate(term, points_[k]);
    if (!number || number->is_real || number->integer != values[k]) return false;
  }
  return true;
}

}  // namespace lazyrt
