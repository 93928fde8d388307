// A variant stands in for its method: the same interface and the same states.

#include <cstring>

#include "runtime/bundle/method_check.h"
#include "runtime/bundle/variant_sizes.h"
#include "runtime/core/profile.h"

namespace lazyrt {
namespace {

using Bindings = flatbuffers::Vector<flatbuffers::Offset<fb::Binding>>;

bool same_text(const flatbuffers::String* a, const flatbuffers::String* b) {
  return std::strcmp(text_of(a), text_of(b)) == 0;
}

Fault other_count(size_t has, Word what, size_t method_has) {
  return bad_bundle("%zu %ss, the method has %zu", has, what, method_has);
}

Fault check_bindings(const fb::Method& method, const Bindings* wanted, const fb::Method& variant,
                     const Bindings* given, Word what) {
  if (count_of(given) != count_of(wanted))
    return other_count(count_of(given), what, count_of(wanted));
  for (uint32_t i = 0; i < count_of(given); ++i) {
    const fb::Binding& a = *wanted->Get(i);
    const fb::Binding& b = *given->Get(i);
    if (!same_text(a.name(), b.name())) {
      return bad_bundle("%s %u is '%.40s', the method's is '%.40s'", what, static_cast<unsigned>(i),
                        text_of(b.name()), text_of(a.name()));
    }
    const DType x = dtype_of(value_at(method, a.value()).dtype());
    const DType y = dtype_of(value_at(variant, b.value()).dtype());
    if (x != y) {
      return bad_bundle("%s '%.40s' is %s, the method's is %s", what, text_of(a.name()),
                        dtype_name(y), dtype_name(x));
    }
  }
  return {};
}

Fault check_literals(const fb::Method& method, const fb::Method& variant) {
  const size_t count = count_of(method.literals());
  if (count_of(variant.literals()) != count)
    return other_count(count_of(variant.literals()), "literal", count);
  for (uint32_t i = 0; i < count; ++i) {
    const fb::Literal& a = literal_at(method, i);
    const fb::Literal& b = literal_at(variant, i);
    if (same_text(a.name(), b.name()) && a.position() == b.position() && a.dtype() == b.dtype())
      continue;
    return bad_bundle("literal '%.40s' is not the method's in name, position and dtype",
                      text_of(b.name()));
  }
  return {};
}

/// Both zeros, or the same bytes of the file.
bool same_initial(const fb::Method& method, int32_t a, const fb::Method& variant, int32_t b) {
  if (a == -1 || b == -1) return a == b;
  return value_at(method, a).offset() == value_at(variant, b).offset();
}

Fault check_state(const fb::Method& method, const fb::State& a, const fb::Method& variant,
                  const fb::State& b) {
  const TensorSpec x = spec_of(value_at(method, a.value()));
  const TensorSpec y = spec_of(value_at(variant, b.value()));
  const bool same = same_text(a.name(), b.name()) && x.dtype == y.dtype && x.shape == y.shape &&
                    same_initial(method, a.initial(), variant, b.initial());
  if (same) return {};
  return bad_bundle("state '%.40s' is not the method's in name, type and first content",
                    text_of(b.name()));
}

Fault check_states(const fb::Method& method, const fb::Method& variant) {
  const size_t count = count_of(method.states());
  if (count_of(variant.states()) != count)
    return other_count(count_of(variant.states()), "state", count);
  for (uint32_t i = 0; i < count; ++i) {
    LAZYRT_RETURN_IF_ERROR(
        check_state(method, state_at(method, i), variant, state_at(variant, i)));
  }
  return {};
}

/// The same symbols, with bounds of its own.
Fault check_same_symbols(const fb::Method& method, const fb::Method& variant) {
  const size_t count = count_of(method.symbols());
  if (count_of(variant.symbols()) != count)
    return other_count(count_of(variant.symbols()), "symbol", count);
  for (uint32_t i = 0; i < count; ++i) {
    const fb::Symbol& a = symbol_at(method, i);
    const fb::Symbol& b = symbol_at(variant, i);
    if (same_text(a.name(), b.name())) continue;
    return bad_bundle("symbol %u is '%.40s', the method's is '%.40s'", static_cast<unsigned>(i),
                      text_of(b.name()), text_of(a.name()));
  }
  return {};
}

/// At equal values of the symbols the inputs have equal shapes.
Fault check_same_dims(const fb::Method& method, const fb::Method& variant) {
  for (uint32_t i = 0; i < count_of(method.inputs()); ++i) {
    const fb::Value& a = value_at(method, input_at(method, i).value());
    const fb::Value& b = value_at(variant, input_at(variant, i).value());
    const Shape x = shape_of(a.shape()), y = shape_of(b.shape());
    bool same = x.rank() == y.rank();
    for (int dim = 0; same && dim < x.rank(); ++dim) {
      const ExtentRule rule = rule_of(method, a, dim);
      same = rule == rule_of(variant, b, dim) && (rule.symbol >= 0 || x[dim] == y[dim]);
    }
    if (same) continue;
    return bad_bundle("input '%.40s' has not the method's fixed extents and symbols",
                      text_of(input_at(variant, i).name()));
  }
  return {};
}

}  // namespace

Fault check_variant(const OpTable&, const fb::Method& method, const fb::Method& variant) {
  LAZYRT_RETURN_IF_ERROR(
      check_bindings(method, method.inputs(), variant, variant.inputs(), "input"));
  LAZYRT_RETURN_IF_ERROR(
      check_bindings(method, method.outputs(), variant, variant.outputs(), "output"));
  LAZYRT_RETURN_IF_ERROR(check_literals(method, variant));
  if (kDynamicShapes) LAZYRT_RETURN_IF_ERROR(check_same_symbols(method, variant));
  if (kDynamicShapes && count_of(method.symbols()) != 0)
    LAZYRT_RETURN_IF_ERROR(check_same_dims(method, variant));
  return check_states(method, variant);
}

}  // namespace lazyrt
