// Whether two methods can be called in the same way: they have the same interface and the same
// states.

#include <cstring>

#include "runtime/bundle/method_check.h"
#include "runtime/bundle/variant_sizes.h"
#include "runtime/core/profile.h"

namespace lazyrt {
namespace {

/// A list of parts that have names.
struct NamedList {
  flatbuffers::voffset_t field;  ///< of Method
  Word what;
};
constexpr NamedList kInputs = {fb::Method::VT_INPUTS, "input"};
constexpr NamedList kOutputs = {fb::Method::VT_OUTPUTS, "output"};
constexpr NamedList kLists[] = {kInputs,
                                kOutputs,
                                {fb::Method::VT_LITERALS, "literal"},
                                {fb::Method::VT_SYMBOLS, "symbol"},
                                {fb::Method::VT_STATES, "state"}};

/// The name is the first field of all of them.
const char* name_of(const flatbuffers::Table* part) {
  constexpr int kName = fb::Binding::VT_NAME;
  static_assert(fb::Literal::VT_NAME == kName && fb::Symbol::VT_NAME == kName &&
                fb::State::VT_NAME == kName);
  return text_of(reinterpret_cast<const fb::Binding*>(part)->name());
}

Fault check_same_names(const fb::Method& method, const fb::Method& variant, const NamedList& list) {
  const Tables* wanted = tables_of(&method, list.field);
  const Tables* given = tables_of(&variant, list.field);
  if (count_of(given) != count_of(wanted)) {
    return bad_bundle("%zu %ss, the method has %zu", count_of(given), list.what, count_of(wanted));
  }
  for (uint32_t i = 0; i < count_of(given); ++i) {
    const char* name = name_of(given->Get(i));
    const char* its_name = name_of(wanted->Get(i));
    if (std::strcmp(name, its_name) == 0) continue;
    return bad_bundle("%s %u is '%.40s', the method's is '%.40s'", list.what,
                      static_cast<unsigned>(i), name, its_name);
  }
  return {};
}

/// The dtypes of the values behind inputs or outputs.
DType dtype_at(const fb::Method& method, const NamedList& bindings, uint32_t i) {
  const auto* binding = static_cast<const fb::Binding*>(table_at(&method, bindings.field, i));
  return dtype_of(value_at(method, binding->value()).dtype());
}

Fault check_same_dtypes(const fb::Method& method, const fb::Method& variant,
                        const NamedList& bindings) {
  for (uint32_t i = 0; i < count_of(tables_of(&method, bindings.field)); ++i) {
    const DType wanted = dtype_at(method, bindings, i);
    const DType dtype = dtype_at(variant, bindings, i);
    if (dtype == wanted) continue;
    return bad_bundle("%s '%.40s' is %s, the method's is %s", bindings.what,
                      name_of(tables_of(&method, bindings.field)->Get(i)), dtype_name(dtype),
                      dtype_name(wanted));
  }
  return {};
}

Fault check_literals(const fb::Method& method, const fb::Method& variant) {
  for (uint32_t i = 0; i < count_of(method.literals()); ++i) {
    const fb::Literal& a = literal_at(method, i);
    const fb::Literal& b = literal_at(variant, i);
    if (a.position() == b.position() && a.dtype() == b.dtype()) continue;
    return bad_bundle("literal '%.40s' differs from the method's in position or dtype",
                      text_of(b.name()));
  }
  return {};
}

/// Both zeros, or the same bytes of the file.
bool same_initial(const fb::Method& method, int32_t a, const fb::Method& variant, int32_t b) {
  if (a == -1 || b == -1) return a == b;
  return value_at(method, a).offset() == value_at(variant, b).offset();
}

Fault check_states(const fb::Method& method, const fb::Method& variant) {
  for (uint32_t i = 0; i < count_of(method.states()); ++i) {
    const fb::State& a = state_at(method, i);
    const fb::State& b = state_at(variant, i);
    const TensorSpec x = spec_of(value_at(method, a.value()));
    const TensorSpec y = spec_of(value_at(variant, b.value()));
    if (x.dtype == y.dtype && x.shape == y.shape &&
        same_initial(method, a.initial(), variant, b.initial())) {
      continue;
    }
    return bad_bundle("state '%.40s' differs from the method's in type or first content",
                      text_of(b.name()));
  }
  return {};
}

/// Equal values of the symbols have to give equal shapes of the inputs.
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
    return bad_bundle("input '%.40s' does not have the method's fixed extents and symbols",
                      text_of(input_at(variant, i).name()));
  }
  return {};
}

}  // namespace

Fault check_same_interface(const fb::Method& method, const fb::Method& variant) {
  for (const NamedList& list : kLists)
    LAZYRT_RETURN_IF_ERROR(check_same_names(method, variant, list));
  LAZYRT_RETURN_IF_ERROR(check_same_dtypes(method, variant, kInputs));
  LAZYRT_RETURN_IF_ERROR(check_same_dtypes(method, variant, kOutputs));
  LAZYRT_RETURN_IF_ERROR(check_literals(method, variant));
  if (kDynamicShapes && count_of(method.symbols()) != 0)
    LAZYRT_RETURN_IF_ERROR(check_same_dims(method, variant));
  return check_states(method, variant);
}

}  // namespace lazyrt
