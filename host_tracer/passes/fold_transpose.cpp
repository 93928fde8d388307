#include <utility>

#include "host_tracer/graph/rewriter.h"
#include "host_tracer/passes/pass_util.h"
#include "host_tracer/passes/passes.h"

namespace lazyrt {
namespace {

/// Folds matmul(a, permute(b)) if the permute ends in a swap of the last two dims: the swap becomes
/// transpose_b, and the remaining permute moves whole rows or nothing.
Outcome<bool> fold_transpose_at(Rewriter& r, const Node& node) {
  if (node.attrs.kind() != fb::OpAttrs::MatMul) return false;
  const Node* permute = r.sole_producer(node.inputs[1], fb::OpAttrs::Permute);
  if (permute == nullptr) return false;
  std::vector<int32_t> perm = permutation_of(*permute);
  const size_t last = perm.size() - 1;
  std::swap(perm[last], perm[last - 1]);
  if (perm[last] != static_cast<int32_t>(last)) return false;
  ValueId b = permute->inputs[0];
  const Shape& shape = r.value(b).shape;
  if (permuted(shape, perm) != shape || !moves_only_units(shape, perm)) {
    auto rest = r.add(permute_attrs(perm), {b}, permute->source);
    if (!rest.ok()) return rest.failure();
    b = *rest;
  }
  fb::MatMulT attrs;
  attrs.transpose_b = !node.attrs.as<fb::MatMul>().transpose_b();
  return r.replace_node(node, Attrs::of(attrs), {node.inputs[0], b});
}

}  // namespace

Outcome<size_t> fold_transpose(Graph& graph) { return rewrite(graph, fold_transpose_at); }

}  // namespace lazyrt
