#include "host_tracer/capture/capture_node.h"

#include <torch/csrc/lazy/core/hash.h>

namespace lazyrt {
namespace {

using torch::lazy::hash_t;
using torch::lazy::OpKind;
using torch::lazy::Shape;

uint32_t version_of(const at::Tensor& t) { return t.is_inference() ? 0 : t._version(); }

hash_t call_hash(const OpNode::Call& call, const std::vector<torch::lazy::Value>& operands) {
  hash_t hash = torch::lazy::StringHash((call.op + "." + call.overload).c_str());
  for (const auto& operand : operands) hash = torch::lazy::HashCombine(hash, operand.hash());
  return hash;
}

}  // namespace

LeafNode::LeafNode(LeafKind kind, std::string name, at::Tensor data)
    : Node(OpKind::Get("lazyrt::leaf"), Shape(data.scalar_type(), data.sizes())),
      kind_(kind),
      name_(std::move(name)),
      data_(std::move(data)),
      version_(version_of(data_)),
      hash_(torch::lazy::HashCombine(torch::lazy::Hash(name_), shape(0).hash(true))) {}

bool LeafNode::data_was_written() const { return version_of(data_) != version_; }

OpNode::OpNode(Call call, const std::vector<torch::lazy::Value>& operands,
               std::vector<Shape> shapes)
    : Node(OpKind::Get(call.op), operands, std::vector<Shape>(shapes), shapes.size()),
      call_(std::move(call)),
      hash_(call_hash(call_, operands)) {}

const LeafNode* as_leaf(const torch::lazy::Node* node) {
  return dynamic_cast<const LeafNode*>(node);
}

const OpNode* as_op(const torch::lazy::Node* node) { return dynamic_cast<const OpNode*>(node); }

bool depends_on_input(const torch::lazy::Node* node) {
  if (const LeafNode* leaf = as_leaf(node)) return leaf->kind() == LeafKind::kInput;
  const OpNode* op = as_op(node);
  return op == nullptr || op->call().depends_on_input;
}

}  // namespace lazyrt
