#include "host_tracer/report/module_costs.h"

#include <algorithm>
#include <map>
#include <set>

namespace lazyrt {
namespace {

constexpr int kDepth = 3;

bool is_number(const std::string& part) {
  return !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
}

/// "m.layers.0" of "m.layers.0.mlp.up": up to the first number, else the first three parts.
std::string group_of(const std::string& path) {
  size_t begin = 0;
  size_t third = std::string::npos;
  for (int part = 1; begin <= path.size(); ++part) {
    const size_t end = std::min(path.find('.', begin), path.size());
    if (part == kDepth) third = end;
    if (is_number(path.substr(begin, end - begin))) return path.substr(0, end);
    begin = end + 1;
  }
  return path.substr(0, third);
}

}  // namespace

std::vector<ModuleCost> module_costs(const MethodInfo& method) {
  std::vector<ModuleCost> costs;
  std::map<std::string, size_t> places;
  std::set<uint64_t> counted;  // offsets of constants
  for (const NodeLine& node : method.nodes) {
    const auto [place, is_new] = places.insert({group_of(node.module_path), costs.size()});
    if (is_new) costs.push_back({place->first, 0, 0, 0});
    ModuleCost& cost = costs[place->second];
    ++cost.nodes;
    cost.flops += node.flops;
    for (int id : node.inputs) {
      if (id < 0) continue;
      const ValueLine& value = method.values[static_cast<size_t>(id)];
      if (value.kind != "Constant" || !counted.insert(value.offset).second) continue;
      cost.constant_bytes += value.bytes;
    }
  }
  return costs;
}

}  // namespace lazyrt
