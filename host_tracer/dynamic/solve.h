#pragma once

// Finds the expression that gives the numbers seen at several sizes.

#include <array>
#include <map>
#include <optional>
#include <vector>

#include "host_tracer/dynamic/shapes.h"

namespace lazyrt {

/// How exactly a real number has to equal that of a term: as float64 or as float32, exactly or
/// except for rounding.
enum class RealMatch { kDouble, kNearDouble, kSingle, kNearSingle };

/// Finds terms over symbols from what they give at known points. Of one argument, a symbol or a
/// number known before, that is a*((p*s+b)//d)+c or a*((s+b)%d)+c, s*r rounded (r a short decimal),
/// a square, a power of two beside s and its exponent, or a line or steps bounded by a constant
/// (max, min), or a*s + b*t + c or such steps + t with a number t known before; of several symbols
/// sums and products of such, with one number added. Nothing is guessed: a term is an answer only
/// where it gives every number seen and no other of its family does so that differs at a size that
/// is allowed; else wanted() is a point that tells them apart.
class SizeSolver {
 public:
  /// `points` are distinct; the first is the base: each symbol has points that differ from it in
  /// that symbol alone. `terms` gets what is found, and must outlive this.
  SizeSolver(const std::vector<DimSymbol>& symbols, std::vector<SizePoint> points, TermList* terms);

  /// `values` by point.
  std::optional<TermId> integers(const std::vector<int64_t>& values);
  /// An extent: numbers of the program may follow from it rather than from a symbol.
  void note_extent(const std::vector<int64_t>& values);
  /// c*t, c/t, c*sqrt(t), c/sqrt(t), c*log(t), c + log(t), (a*t+b)/(c*t+d) and the like of an
  /// integer term t, or that bounded by a constant; that number as float32 where `single`, else as
  /// float64, or, where there is none, one that is equal but for roundings.
  std::optional<TermId> reals(const std::vector<double>& values, bool single);
  /// A point at which the last number without a term has to be known as well; nothing if that does
  /// not help.
  const std::optional<SizePoint>& wanted() const { return wanted_; }

 private:
  /// What a number is a function of: it varies with one symbol alone.
  struct Argument {
    int symbol = 0;
    TermId term = 0;
  };

  /// The function a*((p*s+b)//d) + c, the same with the remainder, or s*r rounded, plus c.
  struct Steps {
    enum class Kind { kQuotient, kRemainder, kFloor, kCeil, kRound };
    int64_t a = 0, b = 0, c = 0, d = 1, p = 1;
    Kind kind = Kind::kQuotient;
    double r = 0;
    int64_t at(int64_t s) const;
  };

  struct Sample {
    int64_t s = 0;
    int64_t v = 0;
  };

  /// Calls find(); the term found counts as known from then on.
  std::optional<TermId> learn(const std::vector<int64_t>& values);
  std::optional<TermId> find(const std::vector<int64_t>& values);
  std::optional<TermId> of_symbols(const std::vector<int64_t>& values, std::vector<int> symbols);
  std::optional<TermId> of_symbol(int symbol, const std::vector<Sample>& series);
  std::optional<TermId> of_argument(const Argument& of, const std::vector<Sample>& series);
  std::optional<TermId> affine(const Argument& of, const std::vector<Sample>& series);
  std::optional<TermId> stepped(const Argument& of, const std::vector<Sample>& series);
  std::optional<TermId> bounded(const Argument& of, const std::vector<Sample>& series);
  std::optional<TermId> squared(const Argument& of, const std::vector<Sample>& series);
  std::optional<TermId> powers(const Argument& of, const std::vector<Sample>& series);
  void ask_between(int symbol, const std::vector<Sample>& series);
  bool ask_end(const Argument& of, const std::vector<Sample>& series);
  std::optional<TermId> combined(int symbol, const std::vector<Sample>& series);
  std::optional<TermId> beside(int symbol, const std::vector<Sample>& series);
  static std::optional<std::array<int64_t, 3>> weights_of(const std::vector<Sample>& series,
                                                          const std::vector<int64_t>& t);
  static std::optional<Steps> line_of(const std::vector<Sample>& series);
  std::optional<TermId> steps_of(const Argument& of, const std::vector<Sample>& series,
                                 bool is_part);
  TermId weighted(TermId s, TermId t, const std::array<int64_t, 3>& weights);
  TermId term_of(const Argument& of, const Steps& steps);
  static void add_steps(const std::vector<Sample>& series, std::vector<Steps>* fits);
  static void add_ratios(const std::vector<Sample>& series, std::vector<Steps>* fits);
  static void add_decimals(const std::vector<Sample>& series, std::vector<Steps>* fits);
  static void add_remainders(const std::vector<Sample>& series, std::vector<Steps>* fits);
  std::optional<int64_t> size_apart(const Argument& of, const std::vector<Steps>& fits,
                                    const std::vector<TermId>& others,
                                    const std::vector<Sample>& within) const;
  std::optional<TermId> separated(const std::vector<int64_t>& values,
                                  const std::vector<int>& symbols);
  std::optional<int64_t> added_number(const std::vector<int64_t>& values, int symbol,
                                      const std::vector<int>& others) const;
  std::vector<Sample> series_of(const std::vector<int64_t>& values, int symbol) const;
  std::optional<std::vector<Sample>> series_over(const Argument& of,
                                                 const std::vector<Sample>& series) const;
  std::optional<TermNumber> number_at(TermId term, int symbol, int64_t size) const;
  std::vector<int> symbols_in(const std::vector<int64_t>& values) const;
  bool differs_only_in(const SizePoint& point, const std::vector<int>& symbols) const;
  bool gives(TermId term, const std::vector<int64_t>& values) const;
  bool gives_series(const Argument& of, TermId term, const std::vector<Sample>& series) const;
  bool gives(TermId term, const std::vector<double>& values, RealMatch match) const;
  std::optional<TermId> real_way(const std::vector<double>& values, RealMatch match,
                                 std::optional<double> bound);
  std::optional<TermId> ratio(const std::vector<double>& values, RealMatch match);
  std::optional<TermId> fitted(TermId t, const std::vector<double>& values);
  std::vector<TermId> ways_to(double seen, TermId t, double x);
  std::optional<TermId> reals(const std::vector<double>& values, const std::vector<int64_t>& whole,
                              RealMatch match);
  std::vector<TermId> real_arguments();

  std::vector<DimSymbol> symbols_;
  std::vector<SizePoint> points_;
  TermList* terms_;
  std::optional<SizePoint> wanted_;
  std::optional<SizePoint> wanted_by_extent_;
  bool asks_ = false;  ///< the number looked at may still be one of several functions
  std::map<std::vector<int64_t>, std::optional<TermId>> known_;
  std::vector<TermId> integer_terms_;  ///< symbols, then what was found
};

}  // namespace lazyrt
