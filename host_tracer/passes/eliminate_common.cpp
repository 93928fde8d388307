#include <cstring>
#include <string>
#include <unordered_map>

#include "host_tracer/graph/rewriter.h"
#include "host_tracer/passes/pass_util.h"
#include "host_tracer/passes/passes.h"

namespace lazyrt {
namespace {

/// Constants up to this size are compared by content; larger ones are equal when they share bytes
/// (the emitter stores equal content once anyway).
constexpr size_t kComparedBytes = 4096;

void append_bytes(std::string* key, const void* data, size_t bytes) {
  key->append(static_cast<const char*>(data), bytes);
}

std::string constant_key(const Value& v) {
  std::string key = dtype_name(v.dtype) + std::string(shape_text(v.shape).text);
  if (v.constant.bytes <= kComparedBytes) {
    key += '=';
    append_bytes(&key, v.constant.data, v.constant.bytes);
  } else {
    key += '@';
    append_bytes(&key, &v.constant.data, sizeof(v.constant.data));
  }
  return key;
}

class Elimination {
 public:
  Outcome<bool> visit(Rewriter& r, const Node& node) {
    std::vector<ValueId> operands = node.inputs;
    for (ValueId& id : operands) id = r.is_constant(id) ? constant(r.value(id), id) : id;
    std::vector<Found>& bucket = nodes_[hash(node.attrs, operands)];
    for (const Found& found : bucket) {
      if (!(found.attrs == node.attrs) || found.inputs != operands) continue;
      for (size_t k = 0; k < node.outputs.size(); ++k) {
        r.replace(node.outputs[k], found.outputs[k]);
      }
      return true;
    }
    if (operands == node.inputs) {
      bucket.push_back({node.attrs, node.inputs, node.outputs});
      return false;
    }
    auto changed = r.replace_node(node, node.attrs, operands);
    if (changed.ok()) bucket.push_back({node.attrs, operands, r.graph().nodes().back().outputs});
    return changed;
  }

  /// Merges equal constants that are results, guards or next values of states.
  size_t merge_roots(Graph* graph) {
    size_t count = 0;
    graph->for_each_root([&](ValueId& id) {
      if (id == kNoValue || graph->value(id).kind != ValueKind::kConstant) return;
      const ValueId first = constant(graph->value(id), id);
      count += first != id ? 1 : 0;
      id = first;
    });
    return count;
  }

 private:
  struct Found {
    Attrs attrs;
    std::vector<ValueId> inputs;
    std::vector<ValueId> outputs;
  };

  ValueId constant(const Value& v, ValueId id) {
    return constants_.try_emplace(constant_key(v), id).first->second;
  }

  static size_t hash(const Attrs& attrs, const std::vector<ValueId>& operands) {
    size_t h = attrs.hash();
    for (ValueId id : operands) h = h * 1000003 + static_cast<size_t>(id);
    return h;
  }

  std::unordered_map<std::string, ValueId> constants_;
  std::unordered_map<size_t, std::vector<Found>> nodes_;
};

}  // namespace

Outcome<size_t> eliminate_common(Graph& graph) {
  Elimination state;
  auto changed =
      rewrite(graph, [&](Rewriter& r, const Node& node) { return state.visit(r, node); });
  if (!changed.ok()) return changed;
  return *changed + state.merge_roots(&graph);
}

}  // namespace lazyrt
