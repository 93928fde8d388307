#include <cmath>

#include "host_tracer/graph/rewriter.h"
#include "host_tracer/passes/channels_last.h"
#include "host_tracer/passes/pass_util.h"
#include "host_tracer/passes/passes.h"

namespace lazyrt {
namespace {

using Answer = Outcome<bool>;

bool same_type(const Rewriter& r, ValueId a, ValueId b) {
  return r.value(a).dtype == r.value(b).dtype && r.value(a).shape == r.value(b).shape;
}

/// Replaces the node's output by operand `x` itself, if the types agree.
Answer forward(Rewriter& r, const Node& node, ValueId x) {
  if (!same_type(r, x, node.outputs[0])) return false;
  r.replace(node.outputs[0], x);
  return true;
}

Answer on_reshape(Rewriter& r, const Node& node) {
  const ValueId x = node.inputs[0];
  if (same_type(r, x, node.outputs[0])) return forward(r, node, x);
  const Node* first = r.producer(x, fb::OpAttrs::Reshape);
  if (first == nullptr) return false;
  if (same_type(r, first->inputs[0], node.outputs[0])) return forward(r, node, first->inputs[0]);
  return r.replace_node(node, node.attrs, {first->inputs[0]});
}

/// Replaces the node's output by `x` in another shape, or by x itself.
Answer reshaped(Rewriter& r, const Node& node, ValueId x) {
  if (same_type(r, x, node.outputs[0])) return forward(r, node, x);
  return r.replace_node(node, reshape_attrs(r.value(node.outputs[0]).shape), {x});
}

/// A permute from or to channels-last, which assign_layout wants to see even if it moves nothing.
bool is_layout_hint(const std::vector<int32_t>& perm) {
  if (perm.size() < 4) return false;
  const std::vector<int32_t> last = channels_last(static_cast<int>(perm.size()));
  return perm == last || perm == inverse(last);
}

Answer on_permute(Rewriter& r, const Node& node) {
  ValueId x = node.inputs[0];
  std::vector<int32_t> perm = permutation_of(node);
  const Node* first = r.producer(x, fb::OpAttrs::Permute);
  if (first != nullptr) {
    const std::vector<int32_t> inner = permutation_of(*first);
    for (int32_t& p : perm) p = inner[static_cast<size_t>(p)];
    x = first->inputs[0];
  }
  if (moves_only_units(r.value(x).shape, perm) && !is_layout_hint(perm))
    return reshaped(r, node, x);
  if (first == nullptr) return false;
  return r.replace_node(node, permute_attrs(perm), {x});
}

Answer on_same_type(Rewriter& r, const Node& node) { return forward(r, node, node.inputs[0]); }

Answer on_slice(Rewriter& r, const Node& node) {
  for (int64_t step : to_vector(node.attrs.as<fb::Slice>().steps())) {
    if (step != 1) return false;
  }
  return forward(r, node, node.inputs[0]);
}

Answer on_pad(Rewriter& r, const Node& node) {
  for (int64_t n : to_vector(node.attrs.as<fb::Pad>().before())) {
    if (n != 0) return false;
  }
  return forward(r, node, node.inputs[0]);
}

Answer on_concat(Rewriter& r, const Node& node) {
  if (node.inputs.size() == 1) return forward(r, node, node.inputs[0]);
  const int32_t axis = node.attrs.as<fb::Concat>().axis();
  std::vector<ValueId> filled;
  for (ValueId id : node.inputs) {
    if (r.value(id).shape[axis] != 0) filled.push_back(id);
  }
  if (filled.empty() || filled.size() == node.inputs.size()) return false;
  return r.replace_node(node, node.attrs, filled);
}

Answer on_reduce(Rewriter& r, const Node& node) {
  const auto& reduce = node.attrs.as<fb::Reduce>();
  const Value& x = r.value(node.inputs[0]);
  for (int32_t axis : to_vector(reduce.axes())) {
    if (x.shape[axis] != 1) return false;
  }
  if (x.dtype != r.value(node.outputs[0]).dtype) return false;
  return r.replace_node(node, reshape_attrs(r.value(node.outputs[0]).shape), {node.inputs[0]});
}

/// If `expand` made this operand from a value that broadcasts to `shape` by itself, returns that
/// value.
ValueId without_expand(const Rewriter& r, ValueId id, const std::vector<ValueId>& others,
                       const Shape& shape) {
  const Node* expand = r.producer(id, fb::OpAttrs::Expand);
  if (expand == nullptr) return id;
  Shape all = r.value(expand->inputs[0]).shape;
  for (ValueId other : others) {
    Shape wider;
    if (!broadcast_shapes(all, r.value(other).shape, &wider)) return id;
    all = wider;
  }
  return all == shape ? expand->inputs[0] : id;
}

/// Removes expands from the operands of an elementwise node, one after the other.
Answer drop_expands(Rewriter& r, const Node& node) {
  std::vector<ValueId> operands = node.inputs;
  bool changed = false;
  for (size_t i = 0; i < operands.size(); ++i) {
    std::vector<ValueId> others = operands;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const ValueId now = without_expand(r, operands[i], others, r.value(node.outputs[0]).shape);
    changed = changed || now != operands[i];
    operands[i] = now;
  }
  if (!changed) return false;
  return r.replace_node(node, node.attrs, operands);
}

/// True when `x fn c` is x to the bit.
bool is_neutral(fb::BinaryFn fn, const Value& c) {
  const std::optional<double> value = uniform_value(c);
  if (!value) return false;
  const bool negative_zero = *value == 0 && std::signbit(*value);
  switch (fn) {
    case fb::BinaryFn::Add:
      return *value == 0 && (negative_zero || !is_floating(c.dtype));
    case fb::BinaryFn::Sub:
      return *value == 0 && !negative_zero;
    case fb::BinaryFn::Mul:
    case fb::BinaryFn::Div:
      return *value == 1;
    default:
      return false;
  }
}

Answer on_binary(Rewriter& r, const Node& node) {
  const fb::BinaryFn fn = node.attrs.as<fb::Binary>().fn();
  const ValueId a = node.inputs[0], b = node.inputs[1];
  const bool commutes = fn == fb::BinaryFn::Add || fn == fb::BinaryFn::Mul;
  if (is_neutral(fn, r.value(b)) && same_type(r, a, node.outputs[0])) return forward(r, node, a);
  if (commutes && is_neutral(fn, r.value(a)) && same_type(r, b, node.outputs[0])) {
    return forward(r, node, b);
  }
  return drop_expands(r, node);
}

Answer on_where(Rewriter& r, const Node& node) {
  const std::optional<double> condition = uniform_value(r.value(node.inputs[0]));
  if (condition) {
    const ValueId chosen = node.inputs[*condition != 0 ? 1 : 2];
    if (same_type(r, chosen, node.outputs[0])) return forward(r, node, chosen);
  }
  return drop_expands(r, node);
}

/// matmul broadcasts batch dims itself: an expand that leaves the last two dims alone is removed.
Answer on_matmul(Rewriter& r, const Node& node) {
  std::vector<ValueId> operands = node.inputs;
  for (size_t i = 0; i < 2; ++i) {
    const Node* expand = r.producer(operands[i], fb::OpAttrs::Expand);
    if (expand == nullptr) continue;
    const Shape& from = r.value(expand->inputs[0]).shape;
    const Shape& to = r.value(operands[i]).shape;
    const Shape& other = r.value(operands[1 - i]).shape;
    if (from.rank() != to.rank() || other.rank() != to.rank()) continue;
    bool fits = from.back(0) == to.back(0) && from.back(1) == to.back(1);
    for (int d = 0; d + 2 < to.rank(); ++d) fits = fits && (from[d] == to[d] || other[d] == to[d]);
    if (fits) operands[i] = expand->inputs[0];
  }
  if (operands == node.inputs) return false;
  return r.replace_node(node, node.attrs, operands);
}

Answer simplify_node(Rewriter& r, const Node& node) {
  switch (node.attrs.kind()) {
    case fb::OpAttrs::Reshape:
      return on_reshape(r, node);
    case fb::OpAttrs::Permute:
      return on_permute(r, node);
    case fb::OpAttrs::Expand:
    case fb::OpAttrs::Cast:
      return on_same_type(r, node);
    case fb::OpAttrs::Slice:
      return on_slice(r, node);
    case fb::OpAttrs::Pad:
      return on_pad(r, node);
    case fb::OpAttrs::Concat:
      return on_concat(r, node);
    case fb::OpAttrs::Reduce:
      return on_reduce(r, node);
    case fb::OpAttrs::Binary:
      return on_binary(r, node);
    case fb::OpAttrs::Where:
      return on_where(r, node);
    case fb::OpAttrs::MatMul:
      return on_matmul(r, node);
    default:
      return false;
  }
}

Answer drop_expands_of(Rewriter& r, const Node& node) {
  const fb::OpAttrs kind = node.attrs.kind();
  if (kind == fb::OpAttrs::MatMul) return on_matmul(r, node);
  const bool broadcasts = kind == fb::OpAttrs::Binary || kind == fb::OpAttrs::Where;
  return broadcasts ? drop_expands(r, node) : Answer(false);
}

}  // namespace

Outcome<size_t> simplify(Graph& graph) { return rewrite(graph, simplify_node); }

Outcome<size_t> drop_expands(Graph& graph) { return rewrite(graph, drop_expands_of); }

}  // namespace lazyrt
