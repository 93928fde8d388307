#include "host_tracer/record/build_trace.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "host_tracer/record/capture.h"

namespace lazyrt {
namespace {

using torch::lazy::Node;

/// Operators that the roots reach, in order of execution. No recursion: graphs may be deep.
std::vector<const OpNode*> reachable_ops(std::vector<const Node*> open) {
  std::vector<const OpNode*> ops;
  std::unordered_set<const Node*> seen;
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    if (!seen.insert(node).second) continue;
    if (const OpNode* op = as_op(node)) ops.push_back(op);
    for (const auto& operand : node->operands()) open.push_back(operand.node);
  }
  std::sort(ops.begin(), ops.end(), [](const OpNode* a, const OpNode* b) {
    return a->call().sequence < b->call().sequence;
  });
  return ops;
}

class Builder {
 public:
  void add_input(const LeafNode* leaf) {
    built_.trace.inputs.push_back(leaf_id(leaf));
    built_.trace.sample_inputs.push_back(to_sample(leaf->data()));
  }

  void add_node(const OpNode* op) {
    const OpNode::Call& call = op->call();
    TraceNode node;
    node.op = call.op;
    node.overload = call.overload;
    node.source = call.source;
    for (const auto& [name, arg] : call.args) node.args.emplace_back(name, remap(op, arg));
    for (const int32_t result : call.results) {
      node.outputs.push_back(result < 0 ? kNoTraceValue : add_result(op, result));
    }
    built_.trace.nodes.push_back(std::move(node));
    built_.positions.push_back(call.position);
  }

  void add_output(const NamedOutput& out) {
    TraceOutput output;
    output.name = out.name;
    output.literal = out.literal;
    if (out.value) output.value = id_of(out.value.node.get(), out.value.index);
    built_.trace.outputs.push_back(std::move(output));
  }

  void add_extra(const torch::lazy::Value& value) {
    built_.extras.push_back(value ? id_of(value.node.get(), value.index) : kNoTraceValue);
  }

  BuiltTrace take() { return std::move(built_); }

 private:
  TraceValueId add_value(TraceValue value, bool random = false) {
    built_.trace.values.push_back(std::move(value));
    built_.random.push_back(random);
    return static_cast<TraceValueId>(built_.trace.values.size() - 1);
  }

  static TraceValue describe(const Node* node, size_t index) {
    TraceValue value;
    value.dtype = to_dtype(node->shape(index).scalar_type());
    value.shape = node->shape(index).sizes().vec();
    return value;
  }

  TraceValueId leaf_id(const LeafNode* leaf) {
    auto& ids = ids_[leaf];
    if (!ids.empty()) return ids[0];
    TraceValue value = describe(leaf, 0);
    value.name = leaf->name();
    value.leaf = leaf->kind();
    if (leaf->kind() != LeafKind::kInput) value.constant = to_sample(leaf->data()).data;
    value.wrapped_number = leaf->data().unsafeGetTensorImpl()->is_wrapped_number();
    ids.push_back(add_value(std::move(value), leaf->random()));
    built_.leaves.emplace(leaf, ids[0]);
    return ids[0];
  }

  TraceValueId add_result(const OpNode* op, int32_t result) {
    TraceValue value = describe(op, static_cast<size_t>(result));
    value.producer = static_cast<int32_t>(built_.trace.nodes.size());
    ids_[op].push_back(add_value(std::move(value)));
    return ids_[op].back();
  }

  TraceValueId id_of(const Node* node, size_t index) {
    if (const LeafNode* leaf = as_leaf(node)) return leaf_id(leaf);
    return ids_.at(node).at(index);
  }

  TensorArg remap_one(const OpNode* op, TensorArg arg) {
    if (arg.value == kNoTraceValue) return arg;
    const auto& operand = op->operand(static_cast<size_t>(arg.value));
    return {id_of(operand.node, operand.index)};
  }

  TraceArg remap(const OpNode* op, const TraceArg& arg) {
    if (const auto* one = std::get_if<TensorArg>(&arg)) return remap_one(op, *one);
    const auto* list = std::get_if<std::vector<TensorArg>>(&arg);
    if (!list) return arg;
    std::vector<TensorArg> mapped;
    for (const TensorArg& item : *list) mapped.push_back(remap_one(op, item));
    return mapped;
  }

  BuiltTrace built_;
  std::unordered_map<const Node*, std::vector<TraceValueId>> ids_;
};

}  // namespace

BuiltTrace build_trace(const std::vector<const LeafNode*>& inputs,
                       const std::vector<NamedOutput>& outputs,
                       const std::vector<torch::lazy::Value>& extras) {
  std::vector<const Node*> roots;
  for (const NamedOutput& out : outputs) {
    if (out.value) roots.push_back(out.value.node.get());
  }
  for (const auto& value : extras) {
    if (value) roots.push_back(value.node.get());
  }
  Builder builder;
  for (const LeafNode* leaf : inputs) builder.add_input(leaf);
  for (const OpNode* op : reachable_ops(std::move(roots))) builder.add_node(op);
  for (const NamedOutput& out : outputs) builder.add_output(out);
  for (const auto& value : extras) builder.add_extra(value);
  return builder.take();
}

}  // namespace lazyrt
