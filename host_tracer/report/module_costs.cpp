#include "host_tracer/report/module_costs.h"

#include <algorithm>
#include <set>

namespace lazyrt {
namespace {

/// Deepest level of modules; deeper ones are joined into one name. The tree is walked by recursion.
constexpr size_t kMostLevels = 64;

ModuleCost& child_of(ModuleCost& parent, const std::string& name) {
  const auto [it, is_new] = parent.places.try_emplace(name, parent.children.size());
  if (is_new) parent.children.push_back({name});
  return parent.children[it->second];
}

void add(const ModuleCost& what, ModuleCost& to) {
  to.nodes += what.nodes;
  to.parameters += what.parameters;
  to.constant_bytes += what.constant_bytes;
  to.result_bytes += what.result_bytes;
  to.flops += what.flops;
}

/// Adds a node's cost to every module on its path.
void add_along(const std::string& path, const ModuleCost& cost, ModuleCost& root) {
  ModuleCost* at = &root;
  add(cost, *at);
  for (size_t begin = 0, level = 1; begin < path.size(); ++level) {
    const size_t dot = level == kMostLevels ? path.size() : path.find('.', begin);
    const size_t end = std::min(dot, path.size());
    at = &child_of(*at, path.substr(begin, end - begin));
    add(cost, *at);
    begin = end + 1;
  }
}

ModuleCost cost_of(const MethodInfo& method, const NodeLine& node, std::set<uint64_t>& counted) {
  ModuleCost cost;
  cost.nodes = 1;
  cost.flops = node.flops;
  for (const int id : node.outputs) {
    cost.result_bytes += method.values[static_cast<size_t>(id)].bytes;
  }
  for (const int id : node.inputs) {
    if (id < 0) continue;
    const ValueLine& value = method.values[static_cast<size_t>(id)];
    if (value.kind != "Constant" || !counted.insert(value.offset).second) continue;
    cost.constant_bytes += value.bytes;
    const size_t size = dtype_size(value.dtype);
    cost.parameters += size == 0 ? 0 : value.bytes / size;
  }
  return cost;
}

/// A module whose one child has all of its nodes becomes one with it.
void join_chains(ModuleCost& module) {
  for (ModuleCost& child : module.children) {
    while (child.children.size() == 1 && child.children[0].nodes == child.nodes) {
      ModuleCost only = std::move(child.children[0]);
      only.name = child.name + "." + only.name;
      child = std::move(only);
    }
    join_chains(child);
  }
}

}  // namespace

ModuleCost module_costs(const MethodInfo& method) {
  ModuleCost root;
  std::set<uint64_t> counted;  // offsets of constants
  for (const NodeLine& node : method.nodes) {
    add_along(node.module_path, cost_of(method, node, counted), root);
  }
  join_chains(root);
  return root;
}

}  // namespace lazyrt
