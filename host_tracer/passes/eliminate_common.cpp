#include <cstring>
#include <string>
#include <unordered_map>

#include "host_tracer/graph/rewriter.h"
#include "host_tracer/passes/pass_util.h"
#include "host_tracer/passes/passes.h"
#include "schema/bundle_file.h"

namespace lazyrt {
namespace {

/// Where a constant with that content may be found; two of one key may still differ.
std::string constant_key(const Value& v) {
  const uint64_t sum = Checksum64::of(v.constant.data, v.constant.bytes);
  return dtype_name(v.dtype) + std::string(shape_text(v.shape).text) + "=" + std::to_string(sum);
}

bool same_content(const Value& a, const Value& b) {
  return a.constant.data == b.constant.data ||
         std::memcmp(a.constant.data, b.constant.data, a.constant.bytes) == 0;
}

class Elimination {
 public:
  Outcome<bool> visit(Rewriter& r, const Node& node) {
    std::vector<ValueId> operands = node.inputs;
    for (ValueId& id : operands) id = r.is_constant(id) ? constant(r, id) : id;
    std::vector<Found>& bucket = nodes_[hash(node.attrs, operands)];
    for (const Found& found : bucket) {
      if (!(found.attrs == node.attrs) || found.inputs != operands) continue;
      for (size_t k = 0; k < node.outputs.size(); ++k) {
        r.replace(node.outputs[k], found.outputs[k]);
      }
      return true;
    }
    if (operands == node.inputs || node.outputs.size() != 1) {
      bucket.push_back({node.attrs, node.inputs, node.outputs});
      return false;
    }
    auto changed = r.replace_node(node, node.attrs, operands);
    if (changed.ok()) bucket.push_back({node.attrs, operands, r.graph().nodes().back().outputs});
    return changed;
  }

 private:
  struct Found {
    Attrs attrs;
    std::vector<ValueId> inputs;
    std::vector<ValueId> outputs;
  };

  /// The first constant with the content of this one.
  ValueId constant(const Rewriter& r, ValueId id) {
    const auto [seen, is_new] = keys_.try_emplace(id);
    if (is_new) seen->second = constant_key(r.value(id));
    const ValueId first = constants_.try_emplace(seen->second, id).first->second;
    return same_content(r.value(first), r.value(id)) ? first : id;
  }

  static size_t hash(const Attrs& attrs, const std::vector<ValueId>& operands) {
    size_t h = attrs.hash();
    for (ValueId id : operands) h = h * 1000003 + static_cast<size_t>(id);
    return h;
  }

  std::unordered_map<ValueId, std::string> keys_;
  std::unordered_map<std::string, ValueId> constants_;
  std::unordered_map<size_t, std::vector<Found>> nodes_;
};

}  // namespace

Outcome<size_t> eliminate_common(Graph& graph) {
  Elimination state;
  return rewrite(graph, [&](Rewriter& r, const Node& node) { return state.visit(r, node); });
}

}  // namespace lazyrt
