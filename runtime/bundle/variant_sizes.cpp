#include "runtime/bundle/variant_sizes.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <numeric>

#include "runtime/bundle/symbol_numbers.h"

namespace lazyrt {
namespace {

SymbolInfo symbol_info(const fb::Method& variant, size_t symbol) {
  return info_of(symbol_at(variant, symbol));
}

bool holds(const SymbolInfo& symbol, int64_t value) {
  return value >= symbol.min && value <= symbol.max && value % symbol.multiple == 0;
}

/// Bound of the factors and offsets of extents, so that nothing overflows.
constexpr int64_t kMostInRule = INT32_MAX;

/// The method's terms; empty if they cannot be read.
class Terms {
 public:
  explicit Terms(const fb::Method& method)
      : terms_(is_aligned(method.terms()) ? method.terms() : nullptr) {}

  const fb::Term* at(int64_t i) const {
    return i >= 0 && i < static_cast<int64_t>(count_of(terms_))
               ? terms_->Get(static_cast<uint32_t>(i))
               : nullptr;
  }
  /// Reads operand b if it is an Integer that a rule may have.
  bool read_number(const fb::Term& term, int64_t* number) const {
    const fb::Term* b = at(term.b());
    if (b == nullptr || b->op() != fb::TermOp::Integer || b->integer() < -kMostInRule ||
        b->integer() > kMostInRule)
      return false;
    *number = b->integer();
    return true;
  }

 private:
  const flatbuffers::Vector<const fb::Term*>* terms_;
};

/// Reads symbol, symbol * Integer, and one of these + Integer or - Integer.
bool read_linear(const Terms& terms, const fb::Term* term, ExtentRule* rule) {
  if (term->op() == fb::TermOp::Add || term->op() == fb::TermOp::Subtract) {
    if (!terms.read_number(*term, &rule->offset)) return false;
    if (term->op() == fb::TermOp::Subtract) rule->offset = -rule->offset;
    term = terms.at(term->a());
  }
  if (term != nullptr && term->op() == fb::TermOp::Multiply) {
    if (!terms.read_number(*term, &rule->factor)) return false;
    term = terms.at(term->a());
  }
  if (term == nullptr || term->op() != fb::TermOp::Symbol) return false;
  rule->symbol = term->a();
  return true;
}

}  // namespace

Fault read_rule(const fb::Method& method, int32_t index, ExtentRule* rule) {
  const auto count = static_cast<int32_t>(count_of(method.symbols()));
  *rule = {index, 1, 0};
  if (index < count) return {};
  const Terms terms(method);
  const fb::Term* term = terms.at(static_cast<int64_t>(index) - count);
  if (term == nullptr) return Fault(Error::kInvalidBundle, "there is no symbol %d", index);
  if (!read_linear(terms, term, rule) || rule->symbol < 0 || rule->symbol >= count) {
    return Fault(Error::kInvalidBundle, "term %d is no multiple of a symbol and a number",
                 index - count);
  }
  const SymbolInfo symbol = symbol_info(method, static_cast<size_t>(rule->symbol));
  int64_t most = 0;
  const bool fits = rule->factor >= 1 && !__builtin_mul_overflow(symbol.max, rule->factor, &most) &&
                    !__builtin_add_overflow(most, rule->offset, &most) && rule->at(symbol.min) >= 1;
  if (fits) return {};
  return Fault(Error::kInvalidBundle, "%s is no extent where '%.40s' is %" PRId64 " to %" PRId64,
               rule_text(method, *rule).text, symbol.name, symbol.min, symbol.max);
}

ExtentRule rule_of(const fb::Method& method, const fb::Value& value, int dim) {
  ExtentRule rule;
  const int32_t index = symbol_of(value, dim);
  if (index >= 0 && !read_rule(method, index, &rule).ok()) return {};
  return rule;
}

RuleText rule_text(const fb::Method& method, const ExtentRule& rule) {
  RuleText out = {};
  if (LAZYRT_MESSAGES == 0) return out;
  const char* name = symbol_info(method, static_cast<size_t>(rule.symbol)).name;
  char factor[24] = "", offset[24] = "";
  if (rule.factor != 1) snprintf(factor, sizeof(factor), "%" PRId64 "*", rule.factor);
  if (rule.offset != 0) {
    snprintf(offset, sizeof(offset), " %c %" PRId64, rule.offset < 0 ? '-' : '+',
             rule.offset < 0 ? -rule.offset : rule.offset);
  }
  snprintf(out.text, sizeof(out.text), "%s%.30s%s", factor, name, offset);
  return out;
}

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
  SymbolInfo bounds = symbol_info(method, symbol);
  for (size_t v = 1; v < variants_of(method); ++v) {
    const SymbolInfo other = symbol_info(variant_of(method, v), symbol);
    bounds.min = std::min(bounds.min, other.min);
    bounds.max = std::max(bounds.max, other.max);
    bounds.multiple = std::gcd(bounds.multiple, other.multiple);
  }
  return bounds;
}

bool takes_sizes(const fb::Method& variant, Span<const int64_t> symbols) {
  for (size_t i = 0; i < symbols.size(); ++i) {
    if (!holds(symbol_info(variant, i), symbols[i])) return false;
  }
  return true;
}

Fault check_size(const fb::Method& method, size_t symbol, int64_t value) {
  for (size_t v = 0; v < variants_of(method); ++v) {
    if (holds(symbol_info(variant_of(method, v), symbol), value)) return {};
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
    const SymbolInfo symbol = symbol_info(variant, i);
    symbols[i] = largest ? symbol.max : symbol.min;
  }
}

void read_file_sizes(const fb::Method& variant, int64_t* symbols) {
  for (uint32_t i = 0; i < count_of(variant.inputs()); ++i) {
    const auto id = static_cast<uint32_t>(input_at(variant, i).value());
    const fb::Value& value = value_at(variant, id);
    for (uint32_t dim = 0; dim < count_of(value.symbols()); ++dim) {
      const ExtentRule rule = rule_of(variant, value, static_cast<int>(dim));
      if (rule.symbol >= 0) rule.solve(value.shape()->Get(dim), &symbols[rule.symbol]);
    }
  }
}

}  // namespace lazyrt
