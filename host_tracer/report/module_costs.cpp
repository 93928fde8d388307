#include "host_tracer/report/module_costs.h"

#include <map>
#include <set>

namespace lazyrt {
namespace {

constexpr int kDepth = 3;

std::string group_of(const std::string& path) {
  size_t end = 0;
  for (int depth = 0; depth < kDepth; ++depth) {
    end = path.find('.', end);
    if (end == std::string::npos) return path;
    ++end;
  }
  return path.substr(0, end - 1);
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
