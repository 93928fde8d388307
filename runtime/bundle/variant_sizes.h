#pragma once

// Which variants of a method with symbols take which sizes. Each has bounds of its own for the
// symbols, and those of the method are what its variants have together.

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

/// The rule that `index` of a value's symbols names: a symbol's own, or behind these a term's,
/// which is factor * symbol + offset within the bounds of an extent wherever the symbol is.
/// kInvalidBundle says what is wrong with it. REQUIRES: index >= 0, symbols were checked.
Fault read_rule(const fb::Method& method, int32_t index, ExtentRule* rule);
/// That of a dim of an input. REQUIRES: check_symbols was ok.
ExtentRule rule_of(const fb::Method& method, const fb::Value& value, int dim);

/// "2*n + 1"
struct RuleText {
  char text[80];
};
RuleText rule_text(const fb::Method& method, const ExtentRule& rule);
/// kInvalidArgument: "'seq' is 600, allowed are 1 to 512", and of which number multiples.
Fault check_symbol_value(const SymbolInfo& symbol, int64_t value);

/// From the smallest to the largest that a variant takes. REQUIRES: there is such a symbol.
SymbolInfo bounds_of(const fb::Method& method, size_t symbol);

/// Whether the sizes are within the bounds of one variant. REQUIRES: one for each symbol.
bool takes_sizes(const fb::Method& variant, Span<const int64_t> symbols);

/// Whether a variant takes the value of the symbol. kInvalidArgument as
/// check_symbol_value, or: "'seq' is 150, which no variant takes".
Fault check_size(const fb::Method& method, size_t symbol, int64_t value);

/// Whether a variant takes these values of the symbols. kInvalidArgument as check_size, or: "no
/// variant takes batch=3, seq=130". REQUIRES: one for each symbol.
Fault check_sizes(const fb::Method& method, Span<const int64_t> symbols);

/// The largest values of the symbols that a variant takes, or the smallest. REQUIRES:
/// kBundleMaxSymbols of them.
void find_bounds(const fb::Method& variant, bool largest, int64_t* symbols);

/// The values of the variant's symbols in its file. REQUIRES: kBundleMaxSymbols of them.
void read_file_sizes(const fb::Method& variant, int64_t* symbols);

}  // namespace lazyrt
