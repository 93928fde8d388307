// SizeSolver: real numbers.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <numbers>
#include <utility>

#include "host_tracer/dynamic/solve.h"

namespace lazyrt {
namespace {

using Op = fb::TermOp;

bool close(double a, double b, RealMatch match) {
  const double scale = std::max(std::abs(a), std::abs(b));
  switch (match) {
    case RealMatch::kDouble:
      return a == b;
    case RealMatch::kNearDouble:
      return a == b || std::abs(a - b) <= scale * 4e-16;
    case RealMatch::kSingle:
      return static_cast<float>(a) == static_cast<float>(b);
    case RealMatch::kNearSingle:
      return a == b || std::abs(a - b) <= scale * 1.2e-7;
  }
  return false;
}

/// Within some roundings to float32.
bool near(double a, double b) { return std::abs(a - b) <= 3e-7 * std::abs(b); }

/// The number itself, preceded by numbers that a program more likely contains and that it may be a
/// rounding of: an integer, some halves or thirds of pi, a short decimal.
std::vector<double> likely(double c) {
  const double whole = std::round(c);
  if (std::abs(c - whole) <= 1e-6 * std::max(1.0, std::abs(c))) return {whole};
  const double sixths = std::round(c / std::numbers::pi * 6);
  if (std::abs(sixths) <= 48) {
    const double angle = sixths / 6 * std::numbers::pi;
    if (near(angle, c)) return {angle, c};
  }
  for (int digits = 1; digits <= 6; ++digits) {
    std::array<char, 32> text;
    std::snprintf(text.data(), text.size(), "%.*g", digits, c);
    const double decimal = std::strtod(text.data(), nullptr);
    if (near(decimal, c)) return {decimal, c};
  }
  return {c};
}

}  // namespace

/// c*t, c/t and t + c that give `seen` where t is x.
std::vector<TermId> SizeSolver::ways_to(double seen, TermId t, double x) {
  std::vector<TermId> ways;
  const double inverse = std::round(x / seen);
  if (std::abs(inverse) > 1 && near(inverse, x / seen)) {
    ways.push_back(terms_->make(Op::Divide, t, terms_->real(inverse)));
  }
  for (const double c : likely(seen / x)) {
    ways.push_back(terms_->make(Op::Multiply, t, terms_->real(c)));
  }
  for (const double c : likely(seen * x)) {
    ways.push_back(terms_->make(Op::Divide, terms_->real(c), t));
  }
  for (const double c : likely(seen - x)) {
    ways.push_back(terms_->make(Op::Add, t, terms_->real(c)));
  }
  return ways;
}

bool SizeSolver::gives(TermId term, const std::vector<double>& values, RealMatch match) const {
  for (size_t k = 0; k < points_.size(); ++k) {
    const auto number = terms_->evaluate(term, points_[k]);
    if (!number || !close(number->as_real(), values[k], match)) return false;
  }
  return true;
}

std::optional<TermId> SizeSolver::reals(const std::vector<double>& values, bool single) {
  const auto is_whole = [](double v) { return v == std::floor(v) && std::abs(v) < 1e15; };
  std::vector<int64_t> whole(values.size());
  for (size_t k = 0; k < values.size(); ++k) {
    if (!(std::abs(values[k]) < 1e15)) return std::nullopt;
    whole[k] = static_cast<int64_t>(std::nearbyint(values[k]));
  }
  if (std::all_of(values.begin(), values.end(), is_whole)) {
    if (const auto term = integers(whole)) return term;
  }
  // If a number differs in the last place, numbers computed from it may have another floor.
  if (auto term = reals(values, whole, single ? RealMatch::kSingle : RealMatch::kDouble))
    return term;
  return reals(values, whole, single ? RealMatch::kNearSingle : RealMatch::kNearDouble);
}

/// `whole`: the values, rounded.
std::optional<TermId> SizeSolver::reals(const std::vector<double>& values,
                                        const std::vector<int64_t>& whole, RealMatch match) {
  if (auto term = real_way(values, match, std::nullopt)) return term;
  if (auto term = ratio(values, match)) return term;
  // If the least or the largest value occurs twice, it may be a bound.
  for (const double bound : {*std::min_element(values.begin(), values.end()),
                             *std::max_element(values.begin(), values.end())}) {
    if (std::count(values.begin(), values.end(), bound) < 2) continue;
    if (auto term = real_way(values, match, bound)) return term;
  }
  // An integer plus a small number, such as one against division by zero.
  const double more = values[0] - static_cast<double>(whole[0]);
  if (more == 0 || std::abs(more) > 1e-3) return std::nullopt;
  const auto part = integers(whole);
  if (!part) return std::nullopt;
  const TermId sum = terms_->make(Op::Add, *part, terms_->real(more));
  return gives(sum, values, match) ? std::optional(sum) : std::nullopt;
}

/// (a*t + b) / (c*t + d) of small whole numbers, as n/(n-1).
std::optional<TermId> SizeSolver::ratio(const std::vector<double>& values, RealMatch match) {
  constexpr int64_t kMost = 16;
  constexpr size_t kMostArguments = 16;
  const std::vector<TermId> known = integer_terms_;
  const size_t last = points_.size() - 1;
  for (size_t i = 0; i < std::min(known.size(), kMostArguments); ++i) {
    const TermId t = i < points_[0].size() ? known[i] : known[known.size() - 1 - i];
    const auto first_t = terms_->evaluate(t, points_[0]),
               last_t = terms_->evaluate(t, points_[last]);
    if (!first_t || !last_t || first_t->is_real || last_t->is_real) continue;
    const int64_t p = first_t->integer, q = last_t->integer;
    if (p == q) continue;
    for (int64_t c = 1; c <= kMost; ++c) {
      for (int64_t d = -kMost; d <= kMost; ++d) {
        if (c * p + d <= 0 || c * q + d <= 0) continue;
        const double x = values[0] * static_cast<double>(c * p + d);
        const double y = values[last] * static_cast<double>(c * q + d);
        const double slope = (y - x) / static_cast<double>(q - p);
        const auto a = static_cast<int64_t>(std::nearbyint(slope));
        const auto b = static_cast<int64_t>(std::nearbyint(x)) - a * p;
        if (std::abs(slope) > kMost || std::abs(b) > kMost) continue;
        const auto line = [&](int64_t factor, int64_t more) {
          const TermId scaled = terms_->make(Op::Multiply, t, terms_->integer(factor));
          return terms_->make(Op::Add, scaled, terms_->integer(more));
        };
        const double guess = static_cast<double>(a * p + b) / static_cast<double>(c * p + d);
        if (!close(guess, values[0], match)) continue;
        const TermId term = terms_->make(Op::Divide, line(a, b), line(c, d));
        if (gives(term, values, match)) return term;
      }
    }
  }
  return std::nullopt;
}

std::vector<TermId> SizeSolver::real_arguments() {
  constexpr size_t kMost = 64;
  std::vector<TermId> arguments;
  for (size_t i = 0; i < points_[0].size(); ++i) {
    const TermId symbol = terms_->symbol(static_cast<int>(i));
    arguments.push_back(symbol);
    for (const int64_t more : {1, -1, 2, -2})
      arguments.push_back(terms_->make(Op::Add, symbol, terms_->integer(more)));
  }
  const std::vector<TermId> known = integer_terms_;
  for (size_t i = known.size(); i-- > 0 && arguments.size() < kMost;) {
    for (const int64_t more : {0, -1})
      arguments.push_back(terms_->make(Op::Add, known[i], terms_->integer(more)));
  }
  return arguments;
}

/// `bound`: values equal to it carry no other information.
std::optional<TermId> SizeSolver::real_way(const std::vector<double>& values, RealMatch match,
                                           std::optional<double> bound) {
  size_t anchor = 0;
  while (anchor < values.size() && bound && values[anchor] == *bound) ++anchor;
  if (anchor == values.size()) return std::nullopt;
  const double seen = values[anchor];
  for (const TermId t : real_arguments()) {
    const TermId root = terms_->make(Op::SquareRoot, t), log = terms_->make(Op::Logarithm, t);
    for (const TermId of : {t, root, log, terms_->make(Op::SquareRoot, root)}) {
      const auto there = terms_->evaluate(of, points_[anchor]);
      if (!there || there->as_real() == 0) continue;
      for (const TermId way : ways_to(seen, of, there->as_real())) {
        const TermId limit = bound ? terms_->real(*bound) : way;
        const TermId term =
            bound ? terms_->make(seen > *bound ? Op::Max : Op::Min, way, limit) : way;
        if (gives(term, values, match)) return term;
      }
      if (bound || match != RealMatch::kSingle) continue;
      if (const auto term = fitted(of, values)) return term;
    }
  }
  return std::nullopt;
}

/// c*t or c/t, where c is such that each value follows by rounding.
std::optional<TermId> SizeSolver::fitted(TermId t, const std::vector<double>& values) {
  constexpr double kRounding = 1.0 / (1 << 24);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::array<double, 2> least = {-kInfinity, -kInfinity}, most = {kInfinity, kInfinity};
  for (size_t k = 0; k < points_.size(); ++k) {
    const auto number = terms_->evaluate(t, points_[k]);
    if (!number || number->as_real() == 0) return std::nullopt;
    const double x = number->as_real();
    for (const auto& [i, c] : {std::pair(0, values[k] / x), std::pair(1, values[k] * x)}) {
      least.at(i) = std::max(least.at(i), c - std::abs(c) * kRounding);
      most.at(i) = std::min(most.at(i), c + std::abs(c) * kRounding);
    }
    if (least[0] > most[0] && least[1] > most[1]) return std::nullopt;
  }
  for (const size_t i : {0, 1}) {
    if (!(least.at(i) <= most.at(i))) continue;
    const TermId c = terms_->real((least.at(i) + most.at(i)) / 2);
    const TermId way = i == 0 ? terms_->make(Op::Multiply, t, c) : terms_->make(Op::Divide, c, t);
    if (gives(way, values, RealMatch::kSingle)) return way;
  }
  return std::nullopt;
}

}  // namespace lazyrt
