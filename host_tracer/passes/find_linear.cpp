#include <algorithm>

#include "host_tracer/graph/rewriter.h"
#include "host_tracer/passes/pass_util.h"
#include "host_tracer/passes/passes.h"

namespace lazyrt {
namespace {

bool is_matrix_constant(const Rewriter& r, ValueId id) {
  return r.is_constant(id) && r.value(id).shape.rank() == 2;
}

Outcome<bool> from_matmul(Rewriter& r, const Node& node) {
  const ValueId x = node.inputs[0];
  ValueId weight = node.inputs[1];
  if (!is_matrix_constant(r, weight) || r.is_constant(x)) return false;
  if (!is_floating(r.value(x).dtype)) return false;  // whole numbers are a matmul's
  if (!node.attrs.as<fb::MatMul>().transpose_b()) {
    auto transposed = r.add(permute_attrs({1, 0}), {weight}, node.source);
    if (!transposed.ok()) return transposed.failure();
    weight = *transposed;
  }
  return r.replace_node(node, Attrs::of(fb::LinearT{}), {x, weight, kNoValue});
}

/// True for a constant with one element for each of `channels` along the last dim, for nothing
/// else.
bool is_channel_vector(const Rewriter& r, ValueId id, int64_t channels) {
  if (!r.is_constant(id)) return false;
  const Shape& shape = r.value(id).shape;
  return shape.rank() > 0 && shape.back(0) == channels && shape.numel() == channels;
}

bool takes_bias(const Rewriter& r, const Node& weighted, const Node& add, ValueId vector) {
  const Value& y = r.value(weighted.outputs[0]);
  const bool has_bias = weighted.inputs.size() > 2 && weighted.inputs[2] != kNoValue;
  return !has_bias && is_unclamped(weighted.attrs) && y.shape == r.value(add.outputs[0]).shape &&
         is_channel_vector(r, vector, y.shape.back(0));
}

Outcome<bool> add_bias(Rewriter& r, const Node& add, const Node& weighted, ValueId vector) {
  ValueId bias = vector;
  const Shape& shape = r.value(vector).shape;
  if (shape.rank() != 1) {
    auto flat = r.add(reshape_attrs({shape.numel()}), {vector}, add.source);
    if (!flat.ok()) return flat.failure();
    bias = *flat;
  }
  const Attrs attrs = weighted.attrs;
  const std::vector<ValueId> operands = {weighted.inputs[0], weighted.inputs[1], bias};
  auto made = r.add(attrs, operands, weighted.source);
  if (!made.ok()) return made.failure();
  r.replace(add.outputs[0], *made);
  return true;
}

Outcome<bool> on_add(Rewriter& r, const Node& node) {
  if (node.attrs.as<fb::Binary>().fn() != fb::BinaryFn::Add) return false;
  for (size_t i = 0; i < 2; ++i) {
    const Node* weighted = r.graph().producer(node.inputs[i]);
    if (weighted == nullptr || !is_weighted(weighted->attrs.kind())) continue;
    if (r.uses(node.inputs[i]) != 1) continue;
    const ValueId vector = node.inputs[1 - i];
    if (takes_bias(r, *weighted, node, vector)) return add_bias(r, node, *weighted, vector);
  }
  return false;
}

Outcome<bool> find_linear_node(Rewriter& r, const Node& node) {
  if (node.attrs.kind() == fb::OpAttrs::MatMul) return from_matmul(r, node);
  if (node.attrs.kind() == fb::OpAttrs::Binary) return on_add(r, node);
  return false;
}

}  // namespace

Outcome<size_t> find_linear(Graph& graph) { return rewrite(graph, find_linear_node); }

}  // namespace lazyrt
