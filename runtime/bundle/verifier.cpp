#include "runtime/bundle/verifier.h"

#include <algorithm>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "lazyrt/runtime.h"
#include "runtime/bundle/method_check.h"
#include "runtime/core/profile.h"
#include "runtime/core/sort.h"

namespace lazyrt {

#if LAZYRT_MESSAGES
Fault bad_bundle(const char* format, ...) {
  char text[200];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  return Fault(Error::kInvalidBundle, "%s", text);
}
#endif

Fault no_memory_to_check() { return Fault(Error::kOutOfMemory, "no memory to check the bundle"); }

Fault MethodCheck::at_value(size_t id, Fault fault) const {
  if (fault.ok()) return fault;
  return fault.with_context("method '%.30s', value %zu ('%.40s')", name(), id,
                            text_of(value(id).name()));
}

Fault MethodCheck::at_node(int32_t index, Fault fault) const {
  if (fault.ok()) return fault;
  const auto node = static_cast<size_t>(index);
  return node_place(method, node, ops).of(node, fault);
}

Fault check_names(Span<const flatbuffers::String*> names, Word what) {
  for (const flatbuffers::String* name : names) {
    if (name == nullptr || name->size() == 0)
      return Fault(Error::kInvalidBundle, "a name of the %ss is missing or empty", what);
    if (std::strlen(name->c_str()) != name->size()) {
      return Fault(Error::kInvalidBundle, "%s '%.40s': its name holds a zero byte", what,
                   name->c_str());
    }
  }
  using Name = const flatbuffers::String*;
  sort(names, [](Name a, Name b) { return std::strcmp(a->c_str(), b->c_str()) < 0; });
  for (size_t i = 1; i < names.size(); ++i) {
    if (std::strcmp(names[i - 1]->c_str(), names[i]->c_str()) == 0) {
      return Fault(Error::kInvalidBundle, "two %ss have the name '%.100s'", what,
                   names[i]->c_str());
    }
  }
  return {};
}

namespace {

/// For builds that bind no other sizes. REQUIRES: check_fixed was ok.
Fault check_no_symbols(MethodCheck* check) {
  for (size_t id = 0; id < check->values.size(); ++id) {
    if (count_of(check->value(id).symbols()) != 0)
      return check->at_value(id, bad_bundle("names symbols, the method has none"));
  }
  return {};
}

using Rule = Fault (*)(MethodCheck* check);
/// The rules that make the facts of values, and the other rules.
constexpr Rule kMakingRules[] = {check_input_bindings, check_nodes, check_output_bindings,
                                 check_states};
constexpr Rule kOtherRules[] = {check_guards, check_memory, check_samples,
                                kDynamicShapes ? check_symbols : check_no_symbols, check_reserved};

/// Memory that one rule takes besides the values is released before the next.
Fault check_each(MethodCheck* check, Span<const Rule> rules) {
  const void* values = check->memory.last();
  for (const Rule rule : rules) {
    LAZYRT_RETURN_IF_ERROR(rule(check));
    check->memory.forget_since(values);
  }
  return {};
}

}  // namespace

Fault check_rules(MethodCheck* check) {
  LAZYRT_RETURN_IF_ERROR(check_values(check));
  LAZYRT_RETURN_IF_ERROR(check_each(check, kMakingRules));
  return check->derives() ? Fault() : check_each(check, kOtherRules);
}

namespace {

Fault check_arena_limit(const fb::Method& method, uint64_t limit) {
  limit = memory_limit_of(limit);
  const uint64_t addressable = SIZE_MAX / 4;
  if (method.arena_bytes() <= limit && method.arena_bytes() <= addressable) return {};
  return Fault(Error::kOutOfMemory,
               "method '%.60s': its arena needs %" PRIu64 " bytes, memory_limit is %" PRIu64,
               text_of(method.name()), method.arena_bytes(), limit);
}

/// For builds that bind no other sizes and do not check the rules for them either.
Fault check_fixed(const fb::Method& method) {
  if (count_of(method.symbols()) + count_of(method.terms()) + count_of(method.patches()) == 0)
    return {};
  return Fault(Error::kUnsupported,
               "method '%.60s' takes inputs of several sizes, this runtime was built with "
               "LAZYRT_PROFILE=embedded: export it with fixed ones",
               text_of(method.name()));
}

struct BundleCheck {
  const BundleSections& sections;
  const OpTable& ops;
  uint64_t memory_limit;
  const Allocator& memory;
  Governor governor;
  CheckMode mode = CheckMode::kFile;

  /// One method without its variants. `unsupported` keeps the first thing that cannot run.
  Fault method(const fb::Method& m, FirstFault* unsupported) {
    if (!kDynamicShapes) LAZYRT_RETURN_IF_ERROR(check_fixed(m));
    LAZYRT_RETURN_IF_ERROR(check_arena_limit(m, memory_limit));
    MethodCheck check(m, sections, ops, memory, governor);
    check.mode = mode;
    const Fault fault = check_rules(&check);
    if (!fault.ok() && fault.error() != Error::kUnsupported) return fault;
    unsupported->add(fault);
    LAZYRT_RETURN_IF_ERROR(check_memory_limit(check, memory_limit));
    if (unsupported->ok()) unsupported->add(check_supported(check));
    return {};
  }

  Fault variants(const fb::Method& m, FirstFault* unsupported) {
    if (count_of(m.variants()) > kBundleMaxVariants) {
      return bad_bundle("method '%.60s': %zu variants are more than %u", text_of(m.name()),
                        count_of(m.variants()), static_cast<unsigned>(kBundleMaxVariants));
    }
    for (uint32_t i = 0; i < count_of(m.variants()); ++i) {
      const fb::Method& variant = variant_at(m, i);
      if (count_of(variant.variants()) != 0) {
        return Fault(Error::kInvalidBundle,
                     "method '%.60s', variant %u: it has variants of its own", text_of(m.name()),
                     static_cast<unsigned>(i) + 1);
      }
      Fault status = method(variant, unsupported);
      if (status.ok() && unsupported->ok()) status = check_variant(ops, m, variant);
      LAZYRT_RETURN_IF_ERROR(status.with_context("variant %u of method '%.60s'",
                                                 static_cast<unsigned>(i) + 1, text_of(m.name())));
    }
    return {};
  }

  Fault method_names() {
    const auto& methods = *sections.bundle->methods();
    Pool pool(memory);
    const auto names = pool.make<const flatbuffers::String*>(methods.size());
    if (pool.is_short()) return no_memory_to_check();
    for (uint32_t i = 0; i < methods.size(); ++i) names[i] = methods.Get(i)->name();
    return check_names(names, "method");
  }
};

}  // namespace

Fault verify_bundle(const BundleSections& sections, const OpTable& ops, const LoadOptions& options,
                    const Allocator& memory) {
  if (count_of(sections.bundle->methods()) == 0) {
    return Fault(Error::kInvalidBundle, "the bundle has no method");
  }
  WorkMeter work(options);
  BundleCheck check = {sections, ops, options.memory_limit, memory, {&work, nullptr}};
  LAZYRT_RETURN_IF_ERROR(check.method_names());
  FirstFault unsupported;
  for (const fb::Method* method : *sections.bundle->methods()) {
    work.begin_method();
    LAZYRT_RETURN_IF_ERROR(check.method(*method, &unsupported));
    LAZYRT_RETURN_IF_ERROR(check.variants(*method, &unsupported));
  }
  return unsupported;
}

Fault verify_bound_method(const BundleSections& sections, const fb::Method& method,
                          const OpTable& ops, const LoadOptions& options, const Allocator& memory,
                          const Governor& governor) {
  BundleCheck check = {sections, ops, options.memory_limit, memory, governor};
  check.mode = CheckMode::kBound;
  FirstFault unsupported;
  LAZYRT_RETURN_IF_ERROR(check.method(method, &unsupported));
  return unsupported;
}

}  // namespace lazyrt
