#include "host_tracer/graph/rewriter.h"
#include "host_tracer/passes/pass_util.h"
#include "host_tracer/passes/passes.h"

namespace lazyrt {
namespace {

bool is_binary(const Node* node, fb::BinaryFn fn) {
  return node != nullptr && node->attrs.kind() == fb::OpAttrs::Binary &&
         node->attrs.as<fb::Binary>().fn() == fn;
}

bool is_unary(const Node* node, fb::UnaryFn fn) {
  return node != nullptr && node->attrs.kind() == fb::OpAttrs::Unary &&
         node->attrs.as<fb::Unary>().fn() == fn;
}

/// x of square(x), pow(x, 2) or x * x; else kNoValue.
ValueId squared(const Rewriter& r, ValueId id) {
  const Node* node = r.producer(id);
  if (is_unary(node, fb::UnaryFn::Square)) return node->inputs[0];
  if (is_binary(node, fb::BinaryFn::Mul) && node->inputs[0] == node->inputs[1]) {
    return node->inputs[0];
  }
  if (is_binary(node, fb::BinaryFn::Pow) && uniform_value(r.value(node->inputs[1])) == 2.0) {
    return node->inputs[0];
  }
  return kNoValue;
}

/// x of mean(x^2, last dim, keepdim); else kNoValue.
ValueId mean_squared(const Rewriter& r, ValueId id) {
  const Node* node = r.producer(id, fb::OpAttrs::Reduce);
  if (node == nullptr) return kNoValue;
  const auto& reduce = node->attrs.as<fb::Reduce>();
  const std::vector<int32_t> axes = to_vector(reduce.axes());
  const bool last = axes.size() == 1 && axes[0] == r.value(node->inputs[0]).shape.rank() - 1;
  if (reduce.fn() != fb::ReduceFn::Mean || !reduce.keepdim() || !last) return kNoValue;
  return squared(r, node->inputs[0]);
}

struct InverseRms {
  ValueId x = kNoValue;
  double epsilon = 0;
};

/// x and epsilon of rsqrt(mean(x^2) + epsilon).
InverseRms inverse_rms(const Rewriter& r, ValueId id) {
  const Node* root = r.producer(id);
  if (!is_unary(root, fb::UnaryFn::Rsqrt)) return {};
  const Node* add = r.producer(root->inputs[0]);
  if (!is_binary(add, fb::BinaryFn::Add)) return {};
  for (size_t i = 0; i < 2; ++i) {
    const Value& epsilon = r.value(add->inputs[1 - i]);
    const std::optional<double> value = uniform_value(epsilon);
    if (value && epsilon.shape.numel() == 1) return {mean_squared(r, add->inputs[i]), *value};
  }
  return {};
}

Outcome<bool> match_norm(Rewriter& r, const Node& mul) {
  for (size_t i = 0; i < 2; ++i) {
    const InverseRms found = inverse_rms(r, mul.inputs[1 - i]);
    if (found.x == kNoValue || found.x != mul.inputs[i]) continue;
    if (r.value(found.x).shape != r.value(mul.outputs[0]).shape) continue;
    fb::RmsNormT norm;
    norm.epsilon = found.epsilon;
    return r.replace_node(mul, Attrs::of(norm), {found.x, kNoValue});
  }
  return false;
}

Outcome<bool> match_weight(Rewriter& r, const Node& mul) {
  for (size_t i = 0; i < 2; ++i) {
    const Node* norm = r.sole_producer(mul.inputs[i], fb::OpAttrs::RmsNorm);
    const ValueId weight = mul.inputs[1 - i];
    if (norm == nullptr || norm->attrs.as<fb::RmsNorm>().normalized_rank() != 1) continue;
    if (norm->inputs.size() > 1 && norm->inputs[1] != kNoValue) continue;
    const Shape& x = r.value(norm->inputs[0]).shape;
    const Shape& w = r.value(weight).shape;
    if (w.rank() != 1 || x.rank() == 0 || w[0] != x.back(0)) continue;
    return r.replace_node(mul, norm->attrs, {norm->inputs[0], weight});
  }
  return false;
}

Outcome<bool> find_rms_norm_at(Rewriter& r, const Node& node) {
  if (!is_binary(&node, fb::BinaryFn::Mul)) return false;
  Outcome<bool> matched = match_norm(r, node);
  if (!matched.ok() || *matched) return matched;
  return match_weight(r, node);
}

}  // namespace

Outcome<size_t> find_rms_norm(Graph& graph) { return rewrite(graph, find_rms_norm_at); }

}  // namespace lazyrt
