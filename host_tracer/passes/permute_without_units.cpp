#include "host_tracer/graph/rewriter.h"
#include "host_tracer/passes/pass_util.h"
#include "host_tracer/passes/passes.h"

namespace lazyrt {
namespace {

/// The permutation of the dims whose extent is not 1, numbered without the others.
std::vector<int32_t> without_units(const Shape& shape, const std::vector<int32_t>& perm) {
  std::vector<int32_t> place;  // by dim
  int32_t count = 0;
  for (const int64_t extent : shape) place.push_back(extent == 1 ? -1 : count++);
  std::vector<int32_t> kept;
  for (const int32_t dim : perm) {
    if (place[static_cast<size_t>(dim)] >= 0) kept.push_back(place[static_cast<size_t>(dim)]);
  }
  return kept;
}

Outcome<bool> rule(Rewriter& r, const Node& node) {
  if (node.attrs.kind() != fb::OpAttrs::Permute) return false;
  const Shape shape = r.value(node.inputs[0]).shape;
  const std::vector<int32_t> perm = permutation_of(node);
  const std::vector<int32_t> kept = without_units(shape, perm);
  if (kept.size() == perm.size() || moves_only_units(shape, perm)) return false;
  Shape inner;
  for (const int64_t extent : shape) {
    if (extent != 1) inner.append(extent);
  }
  auto x = r.add(reshape_attrs(inner), {node.inputs[0]}, node.source);
  if (x.ok()) x = r.add(permute_attrs(kept), {*x}, node.source);
  if (!x.ok()) return x.failure();
  return r.replace_node(node, reshape_attrs(permuted(shape, perm)), {*x});
}

}  // namespace

Outcome<size_t> permute_without_units(Graph& graph) { return rewrite(graph, rule); }

}  // namespace lazyrt
