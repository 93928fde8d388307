// The method's interface: every input bound once, outputs and literals named and in their places.

#include "runtime/bundle/method_check.h"

namespace lazyrt {
namespace {

using Name = const flatbuffers::String*;

Fault bind_input(MethodCheck* c, const fb::Binding& binding) {
  if (!c->is_value(binding.value())) {
    return bad_bundle("input '%.60s': there is no value %d", text_of(binding.name()),
                      binding.value());
  }
  ValueFacts& facts = c->values[static_cast<size_t>(binding.value())];
  if (facts.kind != fb::ValueKind::Input) {
    return bad_bundle("input '%.60s': value %d is not of kind Input", text_of(binding.name()),
                      binding.value());
  }
  if (facts.made_at != ValueFacts::kNotMade) {
    return bad_bundle("input '%.60s': value %d is bound twice", text_of(binding.name()),
                      binding.value());
  }
  facts.made_at = ValueFacts::kBeforeRun;
  facts.last_use = c->node_count();
  return {};
}

Fault check_all_bound(const MethodCheck& c) {
  for (size_t id = 0; id < c.values.size(); ++id) {
    const ValueFacts& facts = c.values[id];
    if (facts.kind == fb::ValueKind::Input && facts.made_at == ValueFacts::kNotMade) {
      return bad_bundle("value %zu ('%.40s') is of kind Input, but not one of the method's inputs",
                        id, text_of(c.value(id).name()));
    }
  }
  return {};
}

Fault bind_inputs(MethodCheck* c) {
  const size_t count = count_of(c->method.inputs());
  const auto names = c->memory.make<Name>(count);
  if (c->memory.is_short()) return no_memory_to_check();
  for (uint32_t i = 0; i < count; ++i) {
    const fb::Binding& binding = input_at(c->method, i);
    names[i] = binding.name();
    LAZYRT_RETURN_IF_ERROR(bind_input(c, binding));
  }
  LAZYRT_RETURN_IF_ERROR(check_all_bound(*c));
  return check_names(names, "input");
}

Fault bind_output(MethodCheck* c, const fb::Binding& binding) {
  if (!c->is_value(binding.value())) {
    return bad_bundle("output '%.60s': there is no value %d", text_of(binding.name()),
                      binding.value());
  }
  ValueFacts& facts = c->values[static_cast<size_t>(binding.value())];
  if (facts.kind == fb::ValueKind::State) {
    return bad_bundle("output '%.60s': value %d is a state", text_of(binding.name()),
                      binding.value());
  }
  facts.last_use = c->node_count();
  return {};
}

Fault check_literal(const fb::Literal& literal, Span<bool> taken) {
  const char* name = text_of(literal.name());
  if (dtype_size(static_cast<DType>(literal.dtype())) == 0) {
    return bad_bundle("literal '%.60s': unknown dtype %d", name, static_cast<int>(literal.dtype()));
  }
  if (literal.position() >= taken.size()) {
    return bad_bundle("literal '%.60s': position %u, there are %zu results", name,
                      static_cast<unsigned>(literal.position()), taken.size());
  }
  if (taken[literal.position()]) {
    return bad_bundle("literal '%.60s': position %u is taken", name,
                      static_cast<unsigned>(literal.position()));
  }
  taken[literal.position()] = true;
  return {};
}

Fault bind_outputs(MethodCheck* c) {
  const size_t outputs = count_of(c->method.outputs());
  const size_t literals = count_of(c->method.literals());
  const auto names = c->memory.make<Name>(outputs + literals);
  const auto taken = c->memory.make<bool>(outputs + literals);
  if (c->memory.is_short()) return no_memory_to_check();
  for (uint32_t i = 0; i < outputs; ++i) {
    const fb::Binding& binding = output_at(c->method, i);
    names[i] = binding.name();
    LAZYRT_RETURN_IF_ERROR(bind_output(c, binding));
  }
  for (uint32_t i = 0; i < literals; ++i) {
    const fb::Literal& literal = literal_at(c->method, i);
    names[outputs + i] = literal.name();
    LAZYRT_RETURN_IF_ERROR(check_literal(literal, taken));
  }
  return check_names(names, "output");
}

}  // namespace

Fault check_input_bindings(MethodCheck* check) {
  return bind_inputs(check).with_context("method '%.30s'", check->name());
}

Fault check_output_bindings(MethodCheck* check) {
  return bind_outputs(check).with_context("method '%.30s'", check->name());
}

}  // namespace lazyrt
