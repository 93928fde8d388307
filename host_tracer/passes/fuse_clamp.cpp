#include <algorithm>
#include <cmath>

#include "host_tracer/graph/rewriter.h"
#include "host_tracer/passes/pass_util.h"
#include "host_tracer/passes/passes.h"

namespace lazyrt {
namespace {

/// The range that an elementwise node limits its operand to, if that is all it does.
std::optional<ClampRange> limits(const Node& node) {
  if (node.attrs.kind() != fb::OpAttrs::Unary) return std::nullopt;
  const auto& unary = node.attrs.as<fb::Unary>();
  if (unary.fn() == fb::UnaryFn::Relu) return ClampRange{0, INFINITY};
  if (unary.fn() != fb::UnaryFn::Clamp) return std::nullopt;
  return ClampRange{static_cast<float>(unary.alpha()), static_cast<float>(unary.beta())};
}

Outcome<bool> fuse_node(Rewriter& r, const Node& node) {
  const std::optional<ClampRange> range = limits(node);
  if (!range || r.value(node.outputs[0]).dtype != DType::kFloat32) return false;
  ValueId id = node.inputs[0];
  const Node* reshape = r.sole_producer(id, fb::OpAttrs::Reshape);
  if (reshape != nullptr) id = reshape->inputs[0];
  const Node* weighted = r.producer(id);
  if (weighted == nullptr || !is_weighted(weighted->attrs.kind()) || r.uses(id) != 1) return false;
  const ClampRange before = clamp_range(weighted->attrs);
  const ClampRange both = {std::max(before.min, range->min), std::min(before.max, range->max)};
  if (!(both.min <= both.max)) return false;  // a constant result, or NaN limits
  auto fused = r.add(with_clamp(weighted->attrs, both), weighted->inputs, weighted->source);
  if (!fused.ok()) return fused.failure();
  if (reshape != nullptr) return r.replace_node(node, reshape->attrs, {*fused});
  r.replace(node.outputs[0], *fused);
  return true;
}

}  // namespace

Outcome<size_t> fuse_clamp(Graph& graph) { return rewrite(graph, fuse_node); }

}  // namespace lazyrt
