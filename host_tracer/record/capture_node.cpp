#include "host_tracer/record/capture_node.h"

#include <ATen/ATen.h>
#include <torch/csrc/lazy/core/hash.h>

#include <algorithm>
#include <cstring>

#include "host_tracer/record/seen_text.h"

namespace lazyrt {
namespace {

using torch::lazy::hash_t;
using torch::lazy::OpKind;
using torch::lazy::Shape;

uint32_t version_of(const at::Tensor& t) { return t.is_inference() ? 0 : t._version(); }

at::Tensor owned_copy(const at::Tensor& cpu) {
  at::Tensor copy = cpu.clone();
  if (cpu.unsafeGetTensorImpl()->is_wrapped_number()) {
    copy.unsafeGetTensorImpl()->set_wrapped_number(true);
  }
  return copy;
}

bool same_bytes(const at::Tensor& a, const at::Tensor& b) {
  if (a.is_contiguous() && b.is_contiguous()) {
    return a.nbytes() == 0 || std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0;
  }
  return at::equal(a, b);
}

hash_t call_hash(const OpNode::Call& call, const std::vector<torch::lazy::Value>& operands) {
  hash_t hash = torch::lazy::StringHash((call.op + "." + call.overload).c_str());
  for (const auto& operand : operands) hash = torch::lazy::HashCombine(hash, operand.hash());
  return hash;
}

std::string leaf_text(const LeafNode& leaf) {
  if (!leaf.name().empty()) return leaf.name();
  return leaf.data().numel() == 1 ? scalar_text(leaf.data()) : "constant";
}

/// Asks the operands of a node that only holds others: a complex value and its halves.
bool any_operand(const torch::lazy::Node* node, bool (*holds)(const torch::lazy::Node*)) {
  const auto& operands = node->operands();
  return std::any_of(operands.begin(), operands.end(),
                     [&](const torch::lazy::Output& operand) { return holds(operand.node); });
}

std::string operand_text(const OpNode& op, TensorArg arg, int depth) {
  if (arg.value == kNoTraceValue) return "None";
  const torch::lazy::Node* operand = op.operand(static_cast<size_t>(arg.value)).node;
  return depth > 1 || as_leaf(operand) ? expression_text(operand, depth - 1) : "…";
}

/// Operands, and numbers that take part in the computation; no options (dims, dtypes, flags).
std::string arg_text(const OpNode& op, const std::string& name, const TraceArg& arg, int depth) {
  if (const auto* one = std::get_if<TensorArg>(&arg)) return operand_text(op, *one, depth);
  if (const auto* list = std::get_if<std::vector<TensorArg>>(&arg)) {
    std::string text = "[";
    for (const TensorArg& item : *list) {
      text += (text.size() > 1 ? ", " : "") + operand_text(op, item, depth);
    }
    return text + "]";
  }
  if (name != "other" && name != "exponent") return "";
  if (const auto* v = std::get_if<bool>(&arg)) return *v ? "True" : "False";
  if (const auto* v = std::get_if<int64_t>(&arg)) return std::to_string(*v);
  if (const auto* v = std::get_if<double>(&arg)) return number_text(*v);
  return "";
}

}  // namespace

LeafNode::LeafNode(LeafKind kind, std::string name, const at::Tensor& cpu)
    : Node(OpKind::Get("lazyrt::leaf"), Shape(cpu.scalar_type(), cpu.sizes())),
      kind_(kind),
      name_(std::move(name)),
      cpu_(cpu),
      data_(kind == LeafKind::kConstant ? owned_copy(cpu) : cpu),
      version_(version_of(cpu_)),
      hash_(torch::lazy::HashCombine(torch::lazy::Hash(name_), shape(0).hash(true))) {}

/// NumPy's writes leave no trace, except in the values.
bool LeafNode::data_was_written() const {
  if (version_of(cpu_) != version_) return true;
  return kind_ == LeafKind::kConstant && !same_bytes(cpu_, data_);
}

OpNode::OpNode(Call call, const std::vector<torch::lazy::Value>& operands,
               std::vector<Shape> shapes)
    : Node(OpKind::Get(call.op), operands, std::vector<Shape>(shapes), shapes.size()),
      call_(std::move(call)),
      hash_(call_hash(call_, operands)) {}

const LeafNode* as_leaf(const torch::lazy::Node* node) {
  return dynamic_cast<const LeafNode*>(node);
}

const OpNode* as_op(const torch::lazy::Node* node) { return dynamic_cast<const OpNode*>(node); }

bool of_ended_capture(const torch::lazy::Node* node) {
  if (const LeafNode* leaf = as_leaf(node)) return leaf->ended();
  const OpNode* op = as_op(node);
  return op && op->ended();
}

bool depends_on_input(const torch::lazy::Node* node) {
  if (const LeafNode* leaf = as_leaf(node)) return leaf->kind() == LeafKind::kInput;
  if (const OpNode* op = as_op(node)) return op->call().depends_on_input;
  return any_operand(node, depends_on_input);
}

bool depends_on_buffer(const torch::lazy::Node* node) {
  if (const LeafNode* leaf = as_leaf(node)) {
    const bool kept = leaf->kind() == LeafKind::kBuffer || leaf->kind() == LeafKind::kState;
    return leaf->varying() || (kept && !leaf->held());
  }
  if (const OpNode* op = as_op(node)) return op->call().depends_on_buffer;
  return any_operand(node, depends_on_buffer);
}

std::string expression_text(const torch::lazy::Node* node, int depth) {
  if (const LeafNode* leaf = as_leaf(node)) return leaf_text(*leaf);
  const OpNode* op = as_op(node);
  if (!op) return "?";
  const std::string& full = op->call().op;
  std::string text = full.substr(full.rfind(':') + 1);
  if (const size_t copy = text.rfind("_copy"); copy != std::string::npos && copy > 0) {
    text.resize(copy);
  }
  text += "(";
  std::string separator;
  for (const auto& [name, arg] : op->call().args) {
    const std::string item = arg_text(*op, name, arg, depth);
    if (item.empty()) continue;
    text += separator + item;
    separator = ", ";
  }
  return text + ")";
}

}  // namespace lazyrt
