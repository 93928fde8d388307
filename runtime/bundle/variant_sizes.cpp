#include "runtime/bundle/variant_sizes.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <numeric>

#include "runtime/bundle/symbol_numbers.h"

namespace lazyrt {
namespace {

SymbolInfo symbol_at(const fb::Method& variant, size_t symbol) {
  return info_of(*variant.symbols()->Get(static_cast<uint32_t>(symbol)));
}

bool holds(const SymbolInfo& symbol, int64_t value) {
  return value >= symbol.min && value <= symbol.max && value % symbol.multiple == 0;
}

}  // namespace

SymbolInfo info_of(const fb::Symbol& symbol) {
  return {text_of(symbol.name()), symbol.min(), symbol.max(), symbol.multiple()};
}

Fault check_symbol_value(const SymbolInfo& symbol, int64_t value) {
  if (holds(symbol, value)) return {};
  char multiples[48] = "";
  if (LAZYRT_MESSAGES != 0 && symbol.multiple != 1)
    snprintf(multiples, sizeof(multiples), " in multiples of %" PRId64, symbol.multiple);
  return Fault(Error::kInvalidArgument,
               "'%.40s' is %" PRId64 ", allowed are %" PRId64 " to %" PRId64 "%s", symbol.name,
               value, symbol.min, symbol.max, multiples);
}

SymbolInfo bounds_of(const fb::Method& method, size_t symbol) {
  SymbolInfo bounds = symbol_at(method, symbol);
  for (size_t v = 1; v < variants_of(method); ++v) {
    const SymbolInfo other = symbol_at(variant_of(method, v), symbol);
    bounds.min = std::min(bounds.min, other.min);
    bounds.max = std::max(bounds.max, other.max);
    bounds.multiple = std::gcd(bounds.multiple, other.multiple);
  }
  return bounds;
}

bool takes_sizes(const fb::Method& variant, Span<const int64_t> symbols) {
  for (size_t i = 0; i < symbols.size(); ++i) {
    if (!holds(symbol_at(variant, i), symbols[i])) return false;
  }
  return true;
}

Fault check_size(const fb::Method& method, size_t symbol, int64_t value) {
  for (size_t v = 0; v < variants_of(method); ++v) {
    if (holds(symbol_at(variant_of(method, v), symbol), value)) return {};
  }
  const SymbolInfo bounds = bounds_of(method, symbol);
  LAZYRT_RETURN_IF_ERROR(check_symbol_value(bounds, value));
  return Fault(Error::kInvalidArgument, "'%.40s' is %" PRId64 ", which no variant takes",
               bounds.name, value);
}

Fault check_sizes(const fb::Method& method, Span<const int64_t> symbols) {
  for (size_t i = 0; i < symbols.size(); ++i)
    LAZYRT_RETURN_IF_ERROR(check_size(method, i, symbols[i]));
  for (size_t v = 0; v < variants_of(method); ++v) {
    if (takes_sizes(variant_of(method, v), symbols)) return {};
  }
  return Fault(Error::kInvalidArgument, "no variant takes %s", sizes_text(method, symbols).text);
}

void find_bounds(const fb::Method& variant, bool largest, int64_t* symbols) {
  for (size_t i = 0; i < count_of(variant.symbols()); ++i) {
    const SymbolInfo symbol = symbol_at(variant, i);
    symbols[i] = largest ? symbol.max : symbol.min;
  }
}

void read_file_sizes(const fb::Method& variant, int64_t* symbols) {
  for (uint32_t i = 0; i < count_of(variant.inputs()); ++i) {
    const auto id = static_cast<uint32_t>(variant.inputs()->Get(i)->value());
    const fb::Value& value = *variant.values()->Get(id);
    const auto indices = ints_of(value.symbols());
    for (size_t dim = 0; dim < indices.size(); ++dim) {
      if (indices[dim] >= 0) symbols[indices[dim]] = value.shape()->Get(static_cast<uint32_t>(dim));
    }
  }
}

}  // namespace lazyrt
