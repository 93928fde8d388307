#pragma once

// From numbers seen at several sizes to the expression that gives them.

#include <map>
#include <optional>
#include <vector>

#include "host_tracer/dynamic/shapes.h"

namespace lazyrt {

/// Finds terms over symbols from what they give at known points. A symbol alone is a*((p*s+b)//d)+c
/// or a*((s+b)%d)+c, a square, or a line bounded by a constant (max, min); several symbols are sums
/// and products of such, with one number added. Nothing is guessed: a term is an answer only where
/// it gives every number seen and no other of its family does so that differs at a size that is
/// allowed; else wanted() is a point that tells them apart.
class SizeSolver {
 public:
  /// `points` are distinct; the first is the base: each symbol has points that differ from it in
  /// that symbol alone. `terms` gets what is found, and must outlive this.
  SizeSolver(const std::vector<DimSymbol>& symbols, std::vector<SizePoint> points, TermList* terms);

  /// `values` by point.
  std::optional<TermId> integers(const std::vector<int64_t>& values);
  /// c*t, c/t, c*sqrt(t), c/sqrt(t), c*log(t), c + log(t) of an integer term t; equal up to the
  /// rounding of float32 where `single`, else of float64.
  std::optional<TermId> reals(const std::vector<double>& values, bool single);
  /// Where the last number without an answer has to be known, too; nothing where that does not
  /// help.
  const std::optional<SizePoint>& wanted() const { return wanted_; }

 private:
  /// a*((p*s+b)//d) + c, or with the remainder instead of the quotient
  struct Steps {
    int64_t a = 0, b = 0, c = 0, d = 1, p = 1;
    bool remainder = false;
    int64_t at(int64_t s) const {
      const int64_t t = p * s + b, quotient = floor_divide(t, d);
      return a * (remainder ? t - quotient * d : quotient) + c;
    }
  };

  struct Sample {
    int64_t s = 0;
    int64_t v = 0;
  };

  std::optional<TermId> find(const std::vector<int64_t>& values);
  std::optional<TermId> of_symbols(const std::vector<int64_t>& values, std::vector<int> symbols);
  std::optional<TermId> of_symbol(int symbol, const std::vector<Sample>& series);
  std::optional<TermId> affine(int symbol, const std::vector<Sample>& series);
  std::optional<TermId> stepped(int symbol, const std::vector<Sample>& series);
  std::optional<TermId> squared(int symbol, const std::vector<Sample>& series);
  static void add_steps(const std::vector<Sample>& series, std::vector<Steps>* fits);
  static void add_ratios(const std::vector<Sample>& series, std::vector<Steps>* fits);
  static void add_remainders(const std::vector<Sample>& series, std::vector<Steps>* fits);
  std::optional<int64_t> size_apart(int symbol, const std::vector<Steps>& fits,
                                    std::optional<TermId> other) const;
  std::optional<TermId> bounded(int symbol, const std::vector<Sample>& series);
  std::optional<TermId> separated(const std::vector<int64_t>& values,
                                  const std::vector<int>& symbols);
  std::optional<int64_t> added_number(const std::vector<int64_t>& values, int symbol,
                                      const std::vector<int>& others) const;
  std::vector<Sample> series_of(const std::vector<int64_t>& values, int symbol) const;
  std::vector<int> symbols_in(const std::vector<int64_t>& values) const;
  bool differs_only_in(const SizePoint& point, const std::vector<int>& symbols) const;
  bool gives(TermId term, const std::vector<int64_t>& values) const;
  bool gives(TermId term, const std::vector<double>& values, bool single) const;

  std::vector<DimSymbol> symbols_;
  std::vector<SizePoint> points_;
  TermList* terms_;
  std::optional<SizePoint> wanted_;
  bool asks_ = false;  ///< the number looked at may be one of several
  std::map<std::vector<int64_t>, std::optional<TermId>> known_;
  std::vector<TermId> integer_terms_;  ///< symbols, then what was found, for reals
};

}  // namespace lazyrt
