#pragma once

// Numbers made of symbols: what Method.terms holds (schema/bundle.fbs), built up on the host.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/bundle/symbol_numbers.h"
#include "schema/bundle_generated.h"

namespace lazyrt {

using TermId = int32_t;

/// The values of the symbols of a method, in their order.
using SizePoint = std::vector<int64_t>;

/// Longest text of a term, in bytes.
constexpr size_t kMostTermText = 200;

/// Toward minus infinity, as Python's. REQUIRES: b > 0.
inline int64_t floor_divide(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return a % b < 0 ? q - 1 : q;
}

/// Terms in order of definition; equal terms are stored once.
class TermList {
 public:
  TermList() = default;
  /// The terms of a bundle. REQUIRES: each operand is an earlier term.
  explicit TermList(std::vector<fb::Term> terms) : terms_(std::move(terms)) {}

  TermId integer(int64_t value);
  TermId real(double value);
  TermId symbol(int index);
  /// `b` is -1 for operations of one operand. What holds no symbol is computed at once; x + 0, x *
  /// 1 and x // 1 are x.
  TermId make(fb::TermOp op, TermId a, TermId b = -1);

  const std::vector<fb::Term>& all() const { return terms_; }
  /// The symbols in a term, ascending.
  std::vector<int> symbols_in(TermId id) const;
  /// The value of a term at a point; nothing if it overflows or a divisor is not positive.
  std::optional<TermNumber> evaluate(TermId id, const SizePoint& point) const;
  /// Drops what these terms do not need, and gives them their new ids.
  void keep(const std::vector<TermId*>& used);
  /// "(seq + 1) // 2", at most kMostTermText bytes of it. Any terms may be asked for theirs, even
  /// those of a bundle that nobody checked: what is no earlier term is "term 7", what is no symbol
  /// "symbol 7".
  std::string text(TermId id, const std::vector<std::string>& names) const;

 private:
  using Key = std::tuple<fb::TermOp, TermId, TermId, int64_t, uint64_t>;
  TermId add(fb::TermOp op, TermId a, TermId b, int64_t integer, double real);
  const fb::Term& at(TermId id) const { return terms_[static_cast<size_t>(id)]; }
  bool is_integer(TermId id, int64_t value) const;
  bool is_constant(TermId id) const;

  std::vector<fb::Term> terms_;
  std::map<Key, TermId> known_;
};

/// "sizes[1] = seq - 1": what a patch of a node of this kind says; a field that the schema does
/// not have is "field 30".
std::string patch_text(fb::OpAttrs kind, const fb::Patch& patch, const TermList& terms,
                       const std::vector<std::string>& names);

}  // namespace lazyrt
