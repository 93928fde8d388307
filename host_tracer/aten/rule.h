#pragma once

// A rule turns one ATen call into nodes of our op table. rules/<name>.cpp defines
//
//   const RuleList <name>_rules{entries};
//
// and includes the generated "aten/rule_lists.h", which declares it and lists all of them; the
// build finds the file by its place, nothing else names it.

#include <cstddef>

#include "host_tracer/aten/rule_context.h"

namespace lazyrt {

/// Emits nodes and sets the results that are used. Failures go into the context.
using RuleFn = void (*)(RuleContext& c);

struct RuleEntry {
  /// The operator without "aten::"; with an overload ("max.dim"), the rule is for that overload
  /// only. A name also covers the view's copy: "permute" is found for "permute_copy".
  const char* op;
  RuleFn rule = nullptr;          ///< nullptr: refused by name
  const char* refusal = nullptr;  ///< why there is no rule, and what to do
};

/// The entries of one file; borrows them.
struct RuleList {
  const RuleEntry* entries = nullptr;
  size_t count = 0;

  template <size_t N>
  constexpr explicit RuleList(const RuleEntry (&list)[N]) : entries(list), count(N) {}
};

/// A line of the generated table.
struct NamedRuleList {
  const char* name;  ///< of the file, without ".cpp"
  const RuleList* list;
};

/// A rule found for an operator.
struct RuleMatch {
  const RuleEntry* entry = nullptr;
  const char* list = nullptr;  ///< name of the file
};

/// Looks for "max.dim", then "max", then for both without a trailing "_copy". entry is nullptr if
/// there is none.
RuleMatch find_rule(const TraceNode& node);

}  // namespace lazyrt
