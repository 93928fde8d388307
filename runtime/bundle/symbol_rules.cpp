// Dynamic dims: symbols whose values the inputs give, numbers made of them, and attributes that
// take these numbers.

#include <cinttypes>

#include "runtime/bundle/method_check.h"
#include "runtime/bundle/symbol_numbers.h"
#include "runtime/bundle/variant_sizes.h"

namespace lazyrt {
namespace {

size_t symbol_count(const MethodCheck& c) { return count_of(c.method.symbols()); }
const fb::Symbol& symbol(const MethodCheck& c, int32_t i) { return symbol_at(c.method, i); }

Fault check_symbol(const fb::Symbol& s) {
  const auto min = s.min(), max = s.max(), multiple = s.multiple();
  if (min < 1 || min > max) {
    return bad_bundle("symbol '%.60s': bounds %" PRId64 " to %" PRId64, text_of(s.name()), min,
                      max);
  }
  if (multiple >= 1 && min % multiple == 0 && max % multiple == 0) return {};
  return bad_bundle("symbol '%.60s': %" PRId64 " and %" PRId64
                    " are not both multiples of %" PRId64,
                    text_of(s.name()), min, max, multiple);
}

Fault check_each_symbol(MethodCheck* check) {
  const MethodCheck& c = *check;
  const size_t count = symbol_count(c);
  if (count > kBundleMaxSymbols) {
    return bad_bundle("%zu symbols, at most %u are allowed", count,
                      static_cast<unsigned>(kBundleMaxSymbols));
  }
  const auto names = check->memory.make<const flatbuffers::String*>(count);
  if (check->memory.is_short()) return no_memory_to_check();
  for (size_t i = 0; i < count; ++i) {
    const fb::Symbol& s = symbol(c, static_cast<int32_t>(i));
    names[i] = s.name();
    LAZYRT_RETURN_IF_ERROR(check_symbol(s));
  }
  return check_names(names, "symbol");
}

/// Checks that there is one index for each dim, or none; constants and states have none.
Fault check_indices(const MethodCheck& c, size_t id) {
  const auto indices = ints_of(c.value(id).symbols());
  if (indices.empty()) return {};
  const ValueFacts& facts = c.values[id];
  if (indices.size() != facts.spec.shape.size()) {
    return bad_bundle("%zu symbols for %d dims", indices.size(), facts.spec.shape.rank());
  }
  const bool is_fixed = facts.kind == fb::ValueKind::Constant || facts.kind == fb::ValueKind::State;
  for (size_t dim = 0; dim < indices.size(); ++dim) {
    const int32_t index = indices[dim];
    if (index == -1) continue;
    if (index < -1) return bad_bundle("dim %zu: there is no symbol %d", dim, index);
    ExtentRule rule;
    const Fault status = read_rule(c.method, index, &rule);
    if (!status.ok()) return status.with_context("dim %zu", dim);
    if (is_fixed) return bad_bundle("dim %zu: its extent cannot be a symbol", dim);
    if (static_cast<size_t>(index) >= symbol_count(c) && facts.kind != fb::ValueKind::Input)
      return bad_bundle("dim %zu: only extents of inputs follow from a symbol", dim);
  }
  return {};
}

/// The values of the symbols; 0 = no input has given it yet.
struct SymbolValues {
  int64_t of[kBundleMaxSymbols] = {};
};

Fault read_extent(const MethodCheck& c, size_t id, int dim, SymbolValues* values) {
  const int64_t extent = c.values[id].spec.shape[dim];
  const ExtentRule rule = rule_of(c.method, c.value(id), dim);
  int64_t size = 0;
  if (!rule.solve(extent, &size)) {
    return bad_bundle("dim %d: %" PRId64 " is not %s", dim, extent, rule_text(c.method, rule).text);
  }
  const Fault status = check_symbol_value(info_of(symbol(c, rule.symbol)), size);
  if (!status.ok()) {
    return status.as(Error::kInvalidBundle)
        .with_context("dim %d is outside of the bounds of its symbol", dim);
  }
  int64_t& value = values->of[rule.symbol];
  if (value == 0) value = size;
  if (value == size) return {};
  return bad_bundle("dim %d: %" PRId64 ", but symbol '%.40s' is %" PRId64, dim, extent,
                    text_of(symbol(c, rule.symbol).name()), value);
}

/// Reads what the extents of values of this kind (or of all other values) say about the symbols.
Fault read_extents(const MethodCheck& c, bool of_inputs, SymbolValues* values) {
  for (size_t id = 0; id < c.values.size(); ++id) {
    if ((c.values[id].kind == fb::ValueKind::Input) != of_inputs) continue;
    const auto indices = ints_of(c.value(id).symbols());
    for (size_t dim = 0; dim < indices.size(); ++dim) {
      if (indices[dim] < 0) continue;
      LAZYRT_RETURN_IF_ERROR(c.at_value(id, read_extent(c, id, static_cast<int>(dim), values)));
    }
  }
  return {};
}

Fault check_all_given(const MethodCheck& c, const SymbolValues& values) {
  for (size_t i = 0; i < symbol_count(c); ++i) {
    if (values.of[i] == 0) {
      return bad_bundle("method '%.30s', symbol '%.60s': no dim of an input gives its value",
                        c.name(), text_of(symbol(c, static_cast<int32_t>(i)).name()));
    }
  }
  return {};
}

/// Checks that everything that changes with the sizes is stored in the file, so that it can be
/// overwritten.
Fault check_stored(const MethodCheck& c) {
  const auto is_stored = [](const auto& table, flatbuffers::voffset_t field) {
    return reinterpret_cast<const flatbuffers::Table&>(table).CheckField(field);
  };
  if (!is_stored(c.method, fb::Method::VT_ARENA_BYTES))
    return bad_bundle("method '%.30s': arena_bytes is absent, but it has symbols", c.name());
  for (size_t id = 0; id < c.values.size(); ++id) {
    const fb::ValueKind kind = c.values[id].kind;
    if (kind != fb::ValueKind::Input && kind != fb::ValueKind::Arena) continue;
    if (!is_stored(c.value(id), fb::Value::VT_OFFSET) ||
        !is_stored(c.value(id), fb::Value::VT_BYTES) ||
        !is_stored(c.value(id), fb::Value::VT_ALIAS_OF)) {
      return c.at_value(
          id, bad_bundle("offset, bytes or alias_of is absent, but the method has symbols"));
    }
  }
  return {};
}

Fault check_patch(const MethodCheck& c, const fb::Patch& patch, Span<const TermNumber> numbers) {
  PatchBytes bytes;
  LAZYRT_RETURN_IF_ERROR(make_patch(c.sections.metadata, c.method, patch, numbers, &bytes));
  if (is_patched(c.sections.metadata, patch.type(), bytes)) return {};
  return bad_bundle("term %d does not give what field %d of node %d holds", patch.term(),
                    patch.field(), patch.node());
}

Fault check_patches(MethodCheck* check, const SymbolValues& values) {
  const MethodCheck& c = *check;
  const auto* patches = c.method.patches();
  Span<TermNumber> numbers;
  LAZYRT_RETURN_IF_ERROR(
      evaluate_terms(c.method, {values.of, symbol_count(c)}, &check->memory, &numbers));
  for (uint32_t i = 0; i < count_of(patches); ++i) {
    LAZYRT_RETURN_IF_ERROR(check_patch(c, *patches->Get(i), numbers)
                               .with_context("patch %u", static_cast<unsigned>(i)));
  }
  return {};
}

}  // namespace

Fault check_symbols(MethodCheck* check) {
  const MethodCheck& c = *check;
  LAZYRT_RETURN_IF_ERROR(check_each_symbol(check).with_context("method '%.30s'", c.name()));
  for (size_t id = 0; id < c.values.size(); ++id)
    LAZYRT_RETURN_IF_ERROR(c.at_value(id, check_indices(c, id)));
  SymbolValues values;
  LAZYRT_RETURN_IF_ERROR(read_extents(c, true, &values));
  LAZYRT_RETURN_IF_ERROR(check_all_given(c, values));
  LAZYRT_RETURN_IF_ERROR(read_extents(c, false, &values));
  if (symbol_count(c) != 0) LAZYRT_RETURN_IF_ERROR(check_stored(c));
  return check_patches(check, values).with_context("method '%.30s'", c.name());
}

}  // namespace lazyrt
