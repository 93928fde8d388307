#include "host_tracer/graph/graph.h"

#include <algorithm>
#include <cstring>

#include "host_tracer/graph/elements.h"

namespace lazyrt {
namespace {

ConstantData copy_bytes(const void* bytes, size_t count) {
  auto owned = std::make_shared<std::vector<uint8_t>>(count);
  if (count > 0) std::memcpy(owned->data(), bytes, count);
  const uint8_t* data = owned->data();
  return {std::move(owned), data, count};
}

std::string type_text(const TensorSpec& spec) {
  return spec.present() ? dtype_name(spec.dtype) + std::string(shape_text(spec.shape).text) : "-";
}

Status check_operand_count(const OpDef& def, const std::vector<ValueId>& inputs) {
  const auto n = static_cast<int>(inputs.size());
  if (n < def.min_inputs || (def.max_inputs >= 0 && n > def.max_inputs)) {
    return Status(Error::kInvalidArgument, "takes %d to %d operands, got %d", def.min_inputs,
                  def.max_inputs, n);
  }
  for (int i = 0; i < n; ++i) {
    const bool optional = i < 32 && ((def.optional_inputs >> i) & 1) != 0;
    if (inputs[static_cast<size_t>(i)] == kNoValue && !optional) {
      return Status(Error::kInvalidArgument, "operand %d is not optional", i);
    }
  }
  return Status();
}

}  // namespace

ValueId Graph::add_value(Value value) {
  values_.push_back(std::move(value));
  return static_cast<ValueId>(values_.size()) - 1;
}

ValueId Graph::add_input(std::string name, DType dtype, const Shape& shape) {
  const ValueId id = add_value({std::move(name), dtype, shape, ValueKind::kInput, {}, -1});
  inputs_.push_back(id);
  return id;
}

ValueId Graph::add_state(std::string name, DType dtype, const Shape& shape, ConstantData first) {
  const ValueId id =
      add_value({std::move(name), dtype, shape, ValueKind::kState, std::move(first), -1});
  states_.push_back({id, id});
  return id;
}

ValueId Graph::add_constant(std::string name, DType dtype, const Shape& shape, ConstantData data) {
  return add_value({std::move(name), dtype, shape, ValueKind::kConstant, std::move(data), -1});
}

ValueId Graph::add_constant(std::string name, DType dtype, const Shape& shape, const void* bytes) {
  const size_t count = dtype_bytes(dtype, shape.numel());
  return add_constant(std::move(name), dtype, shape, copy_bytes(bytes, count));
}

ValueId Graph::add_scalar(DType dtype, double value) {
  uint8_t bytes[8] = {};
  write_element(dtype, bytes, 0, value);
  return add_constant("", dtype, Shape(), bytes);
}

TensorSpec Graph::spec(ValueId id) const {
  if (id == kNoValue) return {};
  const Value& v = value(id);
  return {v.dtype, v.shape, v.kind == ValueKind::kConstant ? v.constant.data : nullptr};
}

std::string Graph::describe(const Attrs& attrs, const std::vector<ValueId>& inputs,
                            const Source& source) const {
  std::string s = std::string(attrs.name()) + "(";
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (i > 0) s += ", ";
    s += type_text(spec(inputs[i]));
  }
  s += ")";
  const std::string parameters = attrs.text();
  if (!parameters.empty()) s += " {" + parameters + "}";
  if (!source.aten.empty()) s += " from " + source.aten;
  const std::string where = source.text();
  return where.empty() ? s : s + " at " + where;
}

Outcome<std::vector<ValueId>> Graph::add_node(const Attrs& attrs,
                                              const std::vector<ValueId>& inputs,
                                              const Source& source) {
  const OpAttrs view = attrs.view();
  const OpEntry* op = ops_->find(view);
  if (op == nullptr) {
    return Failure{Error::kUnsupported, "no such op: " + describe(attrs, inputs, source)};
  }
  std::vector<TensorSpec> operands;
  for (ValueId id : inputs) operands.push_back(spec(id));
  int results = op->def->outputs;
  if (attrs.kind() == fb::OpAttrs::CustomOp)
    results = static_cast<int>(attrs.as<fb::CustomOp>().outputs());
  std::vector<TensorSpec> made(static_cast<size_t>(results));
  Status status = check_operand_count(*op->def, inputs);
  if (status.ok()) {
    status = op->def->infer(view, Span<const TensorSpec>(operands), Span<TensorSpec>(made));
  }
  if (!status.ok()) {
    return Failure{status.error(), describe(attrs, inputs, source) + ": " + status.message()};
  }
  Node node{attrs, inputs, {}, source};
  for (const TensorSpec& s : made) {
    node.outputs.push_back(add_value({"", s.dtype, s.shape, ValueKind::kNode, {}, -1}));
  }
  std::vector<ValueId> outputs = node.outputs;
  append(std::move(node));
  return outputs;
}

Outcome<ValueId> Graph::add(const Attrs& attrs, const std::vector<ValueId>& inputs,
                            const Source& source) {
  auto made = add_node(attrs, inputs, source);
  if (!made.ok()) return made.failure();
  if (made->size() != 1) {
    return Failure{Error::kInternal, std::string(attrs.name()) + " has more than one output"};
  }
  return made->front();
}

const Node* Graph::producer(ValueId id) const {
  if (id == kNoValue || value(id).producer < 0) return nullptr;
  return &nodes_[static_cast<size_t>(value(id).producer)];
}

std::vector<int32_t> Graph::use_counts() const {
  std::vector<int32_t> counts(values_.size(), 0);
  for (const Node& node : nodes_) {
    for (ValueId id : node.inputs) {
      if (id != kNoValue) ++counts[static_cast<size_t>(id)];
    }
  }
  for_each_root([&](ValueId id) {
    if (id != kNoValue) ++counts[static_cast<size_t>(id)];
  });
  return counts;
}

std::deque<Node> Graph::take_nodes() {
  for (const Node& node : nodes_) {
    for (ValueId id : node.outputs) value(id).producer = -1;
  }
  return std::exchange(nodes_, {});
}

void Graph::append(Node node) {
  for (ValueId id : node.outputs) value(id).producer = static_cast<int32_t>(nodes_.size());
  nodes_.push_back(std::move(node));
}

void Graph::replace_all_uses(ValueId from, ValueId to) {
  for (Node& node : nodes_) {
    for (ValueId& id : node.inputs) {
      if (id == from) id = to;
    }
  }
  for_each_root([&](ValueId& id) { id = id == from ? to : id; });
}

void Graph::take_back(size_t nodes, size_t values) {
  nodes_.resize(std::min(nodes, nodes_.size()));
  values_.resize(std::min(values, values_.size()));
}

size_t Graph::remove_dead() {
  std::vector<bool> live(values_.size(), false);
  for_each_root([&](ValueId id) {
    if (id != kNoValue) live[static_cast<size_t>(id)] = true;
  });
  std::vector<bool> keep(nodes_.size(), false);
  for (size_t i = nodes_.size(); i-- > 0;) {
    for (ValueId id : nodes_[i].outputs) keep[i] = keep[i] || live[static_cast<size_t>(id)];
    if (!keep[i]) continue;
    for (ValueId id : nodes_[i].inputs) {
      if (id != kNoValue) live[static_cast<size_t>(id)] = true;
    }
  }
  std::deque<Node> old = take_nodes();
  for (size_t i = 0; i < old.size(); ++i) {
    if (keep[i]) append(std::move(old[i]));
  }
  return old.size() - nodes_.size();
}

void Graph::compact() {
  std::vector<ValueId> renamed(values_.size(), kNoValue);
  std::vector<ValueId> order;
  const auto number = [&](ValueId id) {
    if (id == kNoValue || renamed[static_cast<size_t>(id)] != kNoValue) return;
    renamed[static_cast<size_t>(id)] = static_cast<ValueId>(order.size());
    order.push_back(id);
  };
  const auto number_constant = [&](ValueId id) {
    if (id != kNoValue && value(id).kind == ValueKind::kConstant) number(id);
  };
  for (ValueId id : inputs_) number(id);
  for (const GraphState& state : states_) number(state.value);
  for (const Node& node : nodes_) {
    for (ValueId id : node.inputs) number_constant(id);
  }
  for_each_root([&](ValueId id) { number_constant(id); });
  for (const Node& node : nodes_) {
    for (ValueId id : node.outputs) number(id);
  }
  std::deque<Value> values;
  for (ValueId id : order) values.push_back(std::move(value(id)));
  values_ = std::move(values);
  const auto rename = [&](ValueId& id) {
    if (id != kNoValue) id = renamed[static_cast<size_t>(id)];
  };
  for (ValueId& id : inputs_) rename(id);
  for (Node& node : nodes_) {
    for (ValueId& id : node.inputs) rename(id);
    for (ValueId& id : node.outputs) rename(id);
  }
  for_each_root(rename);
  for (GraphState& state : states_) rename(state.value);
}

}  // namespace lazyrt
