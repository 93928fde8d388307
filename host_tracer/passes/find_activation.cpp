#include "host_tracer/graph/rewriter.h"
#include "host_tracer/passes/pass_util.h"
#include "host_tracer/passes/passes.h"

namespace lazyrt {
namespace {

/// x * sigmoid(x) is silu(x). (x * hardsigmoid(x) is no hardswish: that multiplies by 6 before it
/// divides, which overflows.)
Outcome<bool> find_activation_at(Rewriter& r, const Node& node) {
  if (node.attrs.kind() != fb::OpAttrs::Binary) return false;
  if (node.attrs.as<fb::Binary>().fn() != fb::BinaryFn::Mul) return false;
  for (size_t i = 0; i < 2; ++i) {
    const ValueId x = node.inputs[i];
    const Node* gate = r.sole_producer(node.inputs[1 - i], fb::OpAttrs::Unary);
    if (gate == nullptr || gate->inputs[0] != x) continue;
    if (gate->attrs.as<fb::Unary>().fn() != fb::UnaryFn::Sigmoid) continue;
    fb::UnaryT whole;
    whole.fn = fb::UnaryFn::Silu;
    return r.replace_node(node, Attrs::of(whole), {x});
  }
  return false;
}

}  // namespace

Outcome<size_t> find_activation(Graph& graph) { return rewrite(graph, find_activation_at); }

}  // namespace lazyrt
