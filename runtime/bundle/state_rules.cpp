// States: every State value named once, with a first content and a value to become.

#include "runtime/bundle/method_check.h"

namespace lazyrt {
namespace {

bool same_type(const TensorSpec& a, const TensorSpec& b) {
  return a.dtype == b.dtype && a.shape == b.shape;
}

Fault check_initial(const MethodCheck& c, const fb::State& state, const ValueFacts& value) {
  if (state.initial() == -1) return {};
  if (!c.is_value(state.initial())) return bad_bundle("there is no value %d", state.initial());
  const ValueFacts& initial = c.values[static_cast<size_t>(state.initial())];
  if (initial.kind != fb::ValueKind::Constant) {
    return bad_bundle("initial is value %d, which is no Constant", state.initial());
  }
  if (same_type(initial.spec, value.spec)) return {};
  return bad_bundle("initial does not have its dtype and shape %s%s", dtype_name(value.spec.dtype),
                    shape_text(value.spec.shape).text);
}

Fault check_next(MethodCheck* c, const fb::State& state, const ValueFacts& value) {
  if (!c->is_value(state.next())) return bad_bundle("there is no value %d", state.next());
  ValueFacts& next = c->values[static_cast<size_t>(state.next())];
  if (next.kind == fb::ValueKind::State && state.next() != state.value()) {
    return bad_bundle("next is value %d, another state", state.next());
  }
  if (!same_type(next.spec, value.spec)) {
    return bad_bundle("next does not have its dtype and shape %s%s", dtype_name(value.spec.dtype),
                      shape_text(value.spec.shape).text);
  }
  next.last_use = c->node_count();
  return {};
}

Fault check_state(MethodCheck* c, const fb::State& state) {
  if (!c->is_value(state.value())) return bad_bundle("there is no value %d", state.value());
  ValueFacts& value = c->values[static_cast<size_t>(state.value())];
  if (value.kind != fb::ValueKind::State) {
    return bad_bundle("value %d is not of kind State", state.value());
  }
  if (value.bound) return bad_bundle("value %d belongs to two states", state.value());
  value.bound = true;
  LAZYRT_RETURN_IF_ERROR(check_initial(*c, state, value));
  return check_next(c, state, value);
}

Fault check_all(MethodCheck* c) {
  const size_t count = count_of(c->method.states());
  const auto names = c->memory.make<const flatbuffers::String*>(count);
  if (c->memory.is_short()) return no_memory_to_check();
  for (uint32_t i = 0; i < count; ++i) {
    const fb::State& state = state_at(c->method, i);
    names[i] = state.name();
    LAZYRT_RETURN_IF_ERROR(check_state(c, state).with_context(
        "state %u ('%.40s')", static_cast<unsigned>(i), text_of(state.name())));
  }
  for (size_t id = 0; id < c->values.size(); ++id) {
    if (c->values[id].kind == fb::ValueKind::State && !c->values[id].bound) {
      return bad_bundle("value %zu ('%.40s') is of kind State, but not one of the method's states",
                        id, text_of(c->value(id).name()));
    }
  }
  return check_names(names, "state");
}

}  // namespace

Fault check_states(MethodCheck* check) {
  return check_all(check).with_context("method '%.30s'", check->name());
}

}  // namespace lazyrt
