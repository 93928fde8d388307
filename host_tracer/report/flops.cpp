#include "host_tracer/report/flops.h"

#include "runtime/bundle/reader.h"

namespace lazyrt {
namespace {

/// The shapes of one node's operands and results.
class NodeShapes {
 public:
  NodeShapes(const fb::Method& method, const fb::Node& node) : method_(method), node_(node) {}
  Shape input(uint32_t i) const { return shape(node_.inputs()->Get(i)); }
  Shape output(uint32_t i) const { return shape(node_.outputs()->Get(i)); }

 private:
  Shape shape(int32_t id) const {
    return shape_of(method_.values()->Get(static_cast<uint32_t>(id))->shape());
  }
  const fb::Method& method_;
  const fb::Node& node_;
};

int64_t conv_multiplies(const NodeShapes& s) {
  const Shape weight = s.input(1);  // [O, KH, KW, C / groups]
  return s.output(0).numel() * weight[1] * weight[2] * weight[3];
}

int64_t conv_transpose_multiplies(const NodeShapes& s) {
  const Shape weight = s.input(1);
  return s.input(0).numel() / (s.input(0).back(0) > 0 ? s.input(0).back(0) : 1) * weight.numel();
}

/// Every weight matrix of `x` is used once for each step and batch row.
int64_t recurrent_multiplies(const NodeShapes& s, uint32_t first_weight, uint32_t inputs) {
  int64_t weights = 0;
  for (uint32_t i = first_weight; i < inputs; ++i) {
    const Shape shape = s.input(i);
    if (shape.rank() == 2) weights += shape.numel();
  }
  const Shape x = s.input(0);
  return x[0] * x[1] * weights;
}

int64_t multiplies_of(const NodeShapes& s, const fb::Node& node) {
  switch (node.op_type()) {
    case fb::OpAttrs::Conv2d:
      return conv_multiplies(s);
    case fb::OpAttrs::ConvTranspose2d:
      return conv_transpose_multiplies(s);
    case fb::OpAttrs::Linear:
    case fb::OpAttrs::MatMul:
      return s.output(0).numel() * s.input(0).back(0);
    case fb::OpAttrs::Gru:
      return recurrent_multiplies(s, 2, node.inputs()->size());
    case fb::OpAttrs::Lstm:
      return recurrent_multiplies(s, 3, node.inputs()->size());
    default:
      return 0;
  }
}

}  // namespace

uint64_t flops_of(const fb::Method& method, const fb::Node& node) {
  return 2 * static_cast<uint64_t>(multiplies_of(NodeShapes(method, node), node));
}

}  // namespace lazyrt
