#include "tests/fuzz/single_node.h"

#include <map>

#include "tests/fuzz/bundle_repair.h"

namespace lazyrt::fuzz {

test::BundleParts single_node(const OpTable& ops, const fb::MethodT& method, size_t node,
                              const std::vector<uint8_t>& constants) {
  test::BundleParts parts;
  parts.constants = constants;
  auto alone = std::make_unique<fb::MethodT>();
  auto copy = std::make_unique<fb::NodeT>(*method.nodes[node]);
  copy->source = -1;
  std::map<int, int> renamed = {{-1, -1}};
  const auto take = [&](int id, fb::ValueKind kind) {
    const auto [at, is_new] = renamed.emplace(id, static_cast<int>(alone->values.size()));
    if (!is_new) return at->second;
    auto value = std::make_unique<fb::ValueT>(*method.values[static_cast<size_t>(id)]);
    if (value->kind != fb::ValueKind::Constant) value->kind = kind;
    const auto root = renamed.find(value->alias_of);
    value->alias_of = root == renamed.end() ? -1 : root->second;
    alone->values.push_back(std::move(value));
    return at->second;
  };
  for (int& id : copy->inputs) id = take(id, fb::ValueKind::Input);
  for (int& id : copy->outputs) {
    id = take(id, fb::ValueKind::Arena);
    alone->outputs.push_back(std::make_unique<fb::BindingT>());
    alone->outputs.back()->value = id;
  }
  alone->nodes.push_back(std::move(copy));
  parts.bundle.methods.push_back(std::move(alone));
  Random random(node);
  repair(ops, &random, &parts);
  return parts;
}

}  // namespace lazyrt::fuzz
