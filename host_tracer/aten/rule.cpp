#include "host_tracer/aten/rule.h"

#include <string>
#include <string_view>
#include <unordered_map>

#include "aten/rule_lists.h"

namespace lazyrt {
namespace {

using RuleIndex = std::unordered_map<std::string_view, RuleMatch>;

RuleIndex make_index() {
  RuleIndex index;
  for (const NamedRuleList& named : kRuleLists) {
    for (size_t i = 0; i < named.list->count; ++i) {
      const RuleEntry& entry = named.list->entries[i];
      index.emplace(entry.op, RuleMatch{&entry, named.name});
    }
  }
  return index;
}

RuleMatch look_up(const RuleIndex& index, const std::string& op, const std::string& overload) {
  auto found = index.find(op + "." + overload);
  if (found == index.end()) found = index.find(op);
  return found == index.end() ? RuleMatch{} : found->second;
}

}  // namespace

RuleMatch find_rule(const TraceNode& node) {
  static const RuleIndex index = make_index();
  constexpr std::string_view kNamespace = "aten::";
  constexpr std::string_view kCopy = "_copy";
  if (!node.op.starts_with(kNamespace)) return {};
  std::string op = node.op.substr(kNamespace.size());
  const RuleMatch match = look_up(index, op, node.overload);
  if (match.entry != nullptr || !op.ends_with(kCopy)) return match;
  op.resize(op.size() - kCopy.size());
  return look_up(index, op, node.overload);
}

}  // namespace lazyrt
