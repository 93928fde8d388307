#pragma once

// What the tests of the verifier share: parts of a bundle by name, and what can be added to one.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lazyrt/runtime.h"
#include "tests/support/tiny_bundle.h"
#include "tests/support/tiny_ops.h"

namespace lazyrt::test {

inline Status load(const BundleParts& parts, const LoadOptions& options = {}) {
  const AlignedBytes file = write_bundle(parts);
  return Program::load(file.span(), tiny_ops(), options).status();
}

inline fb::MethodT& method(BundleParts& p) { return *p.bundle.methods[0]; }
inline fb::ValueT& value(BundleParts& p, int i) {
  return *method(p).values[static_cast<size_t>(i)];
}
inline fb::NodeT& node(BundleParts& p, int i) { return *method(p).nodes[static_cast<size_t>(i)]; }
inline fb::SampleT& sample(BundleParts& p) { return *method(p).samples[0]; }

inline fb::SymbolT& add_symbol(BundleParts& p) {
  auto symbol = std::make_unique<fb::SymbolT>();
  symbol->name = "batch";
  symbol->min = 1;
  symbol->max = 8;
  method(p).symbols.push_back(std::move(symbol));
  return *method(p).symbols.back();
}

/// Of the first dim of x, which its rows are taken of.
inline fb::SymbolT& add_batch(BundleParts& p) {
  value(p, tiny::kX).symbols = {0, -1};
  method(p).samples.clear();
  return add_symbol(p);
}

inline void add_terms(BundleParts& p, std::vector<fb::Term> terms) {
  add_batch(p);
  method(p).terms = std::move(terms);
}

/// Term 0 is 6, the extent of the reshape.
inline void add_patch(BundleParts& p, const fb::Patch& patch) {
  add_terms(p, {fb::Term(6, 0, 0, 0, fb::TermOp::Integer)});
  method(p).patches = {patch};
}

/// A guard over a new scalar input.
inline fb::GuardT& add_guard(BundleParts& p) {
  auto guard = std::make_unique<fb::GuardT>();
  guard->value = static_cast<int>(method(p).values.size());
  BundleParts scratch;
  MethodBuilder other(&scratch);
  other.input("flag", DType::kInt64, {});
  auto flag = std::move(other.method().values[0]);
  flag->offset = method(p).arena_bytes;
  method(p).arena_bytes += 64;
  auto binding = std::make_unique<fb::BindingT>();
  binding->name = "flag";
  binding->value = guard->value;
  method(p).values.push_back(std::move(flag));
  method(p).inputs.push_back(std::move(binding));
  method(p).samples.clear();
  method(p).guards.push_back(std::move(guard));
  return *method(p).guards.back();
}

/// A real number of one element as the guard's value.
inline fb::GuardT& add_real_guard(BundleParts& p) {
  fb::GuardT& guard = add_guard(p);
  fb::ValueT& flag = value(p, guard.value);
  flag.dtype = fb::DType::Float32;
  flag.bytes = 4;
  return guard;
}

/// The state "count": f32[2,3], begins as w, becomes the sum.
inline fb::StateT& add_state(fb::MethodT& m) {
  auto made = std::make_unique<fb::ValueT>();
  made->kind = fb::ValueKind::State;
  made->dtype = fb::DType::Float32;
  made->shape = {2, 3};
  made->bytes = 24;
  auto state = std::make_unique<fb::StateT>();
  state->name = "count";
  state->value = static_cast<int>(m.values.size());
  state->initial = tiny::kW;
  state->next = tiny::kX;
  m.values.push_back(std::move(made));
  m.states.push_back(std::move(state));
  return *m.states.back();
}
inline fb::StateT& add_state(BundleParts& p) { return add_state(method(p)); }

inline std::unique_ptr<fb::MethodT> tiny_method() {
  return std::move(tiny_bundle().bundle.methods[0]);
}

inline fb::MethodT& add_variant(BundleParts& p) {
  method(p).variants.push_back(tiny_method());
  return *method(p).variants.back();
}

/// A variant of a method that has symbols; it has them as well.
inline fb::MethodT& add_sized_variant(BundleParts& p) {
  auto variant = std::make_unique<fb::MethodT>(method(p));
  variant->variants.clear();
  method(p).variants.push_back(std::move(variant));
  return *method(p).variants.back();
}

}  // namespace lazyrt::test
