#pragma once

// Which variants of a method with symbols take which sizes. Each variant has its own bounds for the
// symbols; the method's bounds are the union of theirs.

#include "lazyrt/runtime.h"
#include "runtime/bundle/reader.h"

namespace lazyrt {

inline size_t variants_of(const fb::Method& method) { return 1 + count_of(method.variants()); }
/// Variant 0 is the method itself.
inline const fb::Method& variant_of(const fb::Method& method, size_t variant) {
  return variant == 0 ? method : variant_at(method, variant - 1);
}

SymbolInfo info_of(const fb::Symbol& symbol);

/// What an extent of an input is: factor * symbol + offset.
struct ExtentRule {
  int32_t symbol = -1;  ///< -1: an extent of its own
  int64_t factor = 1;
  int64_t offset = 0;

  bool is_plain() const { return factor == 1 && offset == 0; }
  int64_t at(int64_t size) const { return factor * size + offset; }
  /// Whether a size has this extent, and which.
  bool solve(int64_t extent, int64_t* size) const {
    int64_t part = 0;
    if (__builtin_sub_overflow(extent, offset, &part)) return false;
    *size = part / factor;
    return part % factor == 0;
  }
  bool operator==(const ExtentRule& o) const {
    return symbol == o.symbol && factor == o.factor && offset == o.offset;
  }
};

/// Reads the rule that entry `index` of a value's symbols names: a symbol's own, or, for higher
/// indices, that of a term, which must be factor * symbol + offset and within the bounds of an
/// extent for every value of the symbol. The text of kInvalidBundle says what is wrong. REQUIRES:
/// index >= 0, symbols were checked.
Fault read_rule(const fb::Method& method, int32_t index, ExtentRule* rule);
/// Returns the rule of a dim of an input. REQUIRES: check_symbols was ok.
ExtentRule rule_of(const fb::Method& method, const fb::Value& value, int dim);

/// "2*n + 1"
struct RuleText {
  char text[80];
};
RuleText rule_text(const fb::Method& method, const ExtentRule& rule);
/// kInvalidArgument: "'seq' is 600, allowed are 1 to 512", and multiples of which number.
Fault check_symbol_value(const SymbolInfo& symbol, int64_t value);

/// Returns bounds from the smallest to the largest size that any variant takes. REQUIRES: the
/// symbol exists.
SymbolInfo bounds_of(const fb::Method& method, size_t symbol);

/// Whether the sizes are within the bounds of one variant. REQUIRES: one for each symbol.
bool takes_sizes(const fb::Method& variant, Span<const int64_t> symbols);

/// Whether a variant takes the value of the symbol. kInvalidArgument as
/// check_symbol_value, or: "'seq' is 150, which no variant takes".
Fault check_size(const fb::Method& method, size_t symbol, int64_t value);

/// Whether a variant takes these values of the symbols. kInvalidArgument as check_size, or: "no
/// variant takes batch=3, seq=130". REQUIRES: one for each symbol.
Fault check_sizes(const fb::Method& method, Span<const int64_t> symbols);

/// Finds the largest or the smallest values of the symbols that a variant takes. REQUIRES: room for
/// kBundleMaxSymbols.
void find_bounds(const fb::Method& variant, bool largest, int64_t* symbols);

/// Reads the values that the variant's symbols have in its file. REQUIRES: room for
/// kBundleMaxSymbols.
void read_file_sizes(const fb::Method& variant, int64_t* symbols);

}  // namespace lazyrt
