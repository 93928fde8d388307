#include <cmath>

#include "host_tracer/graph/rewriter.h"
#include "host_tracer/passes/pass_util.h"
#include "host_tracer/passes/passes.h"

namespace lazyrt {
namespace {

/// batch_norm as y = scale * x + shift for each channel.
struct Affine {
  std::vector<double> scale;
  std::vector<double> shift;
};

bool constant_parameters(const Rewriter& r, const Node& norm) {
  for (size_t i = 1; i < norm.inputs.size(); ++i) {
    if (norm.inputs[i] != kNoValue && !r.is_constant(norm.inputs[i])) return false;
  }
  return true;
}

std::vector<double> parameter(const Rewriter& r, ValueId id, size_t channels, double otherwise) {
  if (id == kNoValue) return std::vector<double>(channels, otherwise);
  return constant_elements(r.value(id));
}

/// REQUIRES: constant_parameters().
Affine affine_of(const Rewriter& r, const Node& norm) {
  const double epsilon = norm.attrs.as<fb::BatchNorm>().epsilon();
  const std::vector<double> mean = constant_elements(r.value(norm.inputs[3]));
  const std::vector<double> variance = constant_elements(r.value(norm.inputs[4]));
  Affine a{parameter(r, norm.inputs[1], mean.size(), 1),
           parameter(r, norm.inputs[2], mean.size(), 0)};
  for (size_t c = 0; c < mean.size(); ++c) {
    a.scale[c] /= std::sqrt(variance[c] + epsilon);
    a.shift[c] -= mean[c] * a.scale[c];
  }
  return a;
}

/// The weighted node whose channels `norm` scales, perhaps with a reshape between that keeps the
/// channels last; all read once.
struct Match {
  const Node* weighted = nullptr;
  const Node* reshape = nullptr;
};

Match match(const Rewriter& r, const Node& norm) {
  const Shape& x = r.value(norm.inputs[0]).shape;
  if (norm.attrs.as<fb::BatchNorm>().channel_axis() != x.rank() - 1) return {};
  Match m;
  ValueId id = norm.inputs[0];
  m.reshape = r.sole_producer(id, fb::OpAttrs::Reshape);
  if (m.reshape != nullptr) id = m.reshape->inputs[0];
  m.weighted = r.producer(id);
  if (m.weighted == nullptr || !is_weighted(m.weighted->attrs.kind()) || r.uses(id) != 1) return {};
  const Shape& y = r.value(id).shape;
  if (y.rank() == 0 || y.back(0) != x.back(0) || !is_unclamped(m.weighted->attrs)) return {};
  for (size_t i = 1; i < m.weighted->inputs.size(); ++i) {
    const ValueId operand = m.weighted->inputs[i];
    if (operand != kNoValue && !r.is_constant(operand)) return {};
  }
  return m;
}

/// Folds the affine into weight [O, ...] and bias [O]. Returns the operands of the new node.
std::vector<ValueId> scaled_operands(Rewriter& r, const Node& weighted, const Affine& a) {
  const Value weight = r.value(weighted.inputs[1]);
  std::vector<double> elements = constant_elements(weight);
  const size_t channels = a.scale.size();
  const size_t row = channels == 0 ? 0 : elements.size() / channels;
  for (size_t i = 0; i < elements.size(); ++i) elements[i] *= a.scale[i / row];
  const ValueId old_bias = weighted.inputs.size() > 2 ? weighted.inputs[2] : kNoValue;
  std::vector<double> bias = parameter(r, old_bias, channels, 0);
  for (size_t c = 0; c < channels; ++c) bias[c] = bias[c] * a.scale[c] + a.shift[c];
  const std::string bias_name =
      old_bias == kNoValue ? weight.name + ".folded_bias" : r.value(old_bias).name;
  return {weighted.inputs[0],
          add_elements(r.graph(), weight.name, weight.dtype, weight.shape, elements),
          add_elements(r.graph(), bias_name, weight.dtype, {static_cast<int64_t>(channels)}, bias)};
}

Outcome<bool> fold_batch_norm_at(Rewriter& r, const Node& norm) {
  if (norm.attrs.kind() != fb::OpAttrs::BatchNorm || !constant_parameters(r, norm)) return false;
  const Match m = match(r, norm);
  if (m.weighted == nullptr) return false;
  const std::vector<ValueId> operands = scaled_operands(r, *m.weighted, affine_of(r, norm));
  auto folded = r.add(m.weighted->attrs, operands, m.weighted->source);
  if (!folded.ok()) return folded.failure();
  if (m.reshape != nullptr) return r.replace_node(norm, m.reshape->attrs, {*folded});
  r.replace(norm.outputs[0], *folded);
  return true;
}

/// The shape in which [C] broadcasts along `axis` of a value of this rank.
Shape channel_shape(int64_t channels, int axis, int rank) {
  Shape shape = {channels};
  for (int d = axis + 1; d < rank; ++d) shape.append(1);
  return shape;
}

Outcome<bool> expand_node(Rewriter& r, const Node& norm) {
  if (norm.attrs.kind() != fb::OpAttrs::BatchNorm || !constant_parameters(r, norm)) return false;
  const Value& x = r.value(norm.inputs[0]);
  const Affine a = affine_of(r, norm);
  const Shape shape = channel_shape(static_cast<int64_t>(a.scale.size()),
                                    norm.attrs.as<fb::BatchNorm>().channel_axis(), x.shape.rank());
  const ValueId scale = add_elements(r.graph(), "", x.dtype, shape, a.scale);
  const ValueId shift = add_elements(r.graph(), "", x.dtype, shape, a.shift);
  fb::BinaryT mul, add;
  mul.fn = fb::BinaryFn::Mul;
  add.fn = fb::BinaryFn::Add;
  auto scaled = r.add(Attrs::of(mul), {norm.inputs[0], scale}, norm.source);
  if (!scaled.ok()) return scaled.failure();
  return r.replace_node(norm, Attrs::of(add), {*scaled, shift});
}

}  // namespace

Outcome<size_t> fold_batch_norm(Graph& graph) { return rewrite(graph, fold_batch_norm_at); }

Outcome<size_t> expand_batch_norm(Graph& graph) { return rewrite(graph, expand_node); }

}  // namespace lazyrt
