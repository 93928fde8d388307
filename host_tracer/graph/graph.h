#pragma once

// The exporter's own program: typed SSA over the op table. Free of LibTorch.

#include <cstdint>
#include <string>
#include <vector>

#include "host_tracer/capture/trace.h"
#include "host_tracer/graph/attrs.h"
#include "host_tracer/support/outcome.h"
#include "lazyrt/dtype.h"
#include "lazyrt/shape.h"

namespace lazyrt {

using ValueId = int32_t;
constexpr ValueId kNoValue = -1;

enum class ValueKind : uint8_t { kInput, kConstant, kNode };

struct Value {
  std::string name;
  DType dtype = DType::kNone;
  Shape shape;
  ValueKind kind = ValueKind::kNode;
  ConstantData constant;  ///< kConstant: shape.numel() elements, row-major
};

struct Node {
  Attrs attrs;
  std::vector<ValueId> inputs;   ///< kNoValue: absent optional operand
  std::vector<ValueId> outputs;
  Source source;
};

struct GraphOutput {
  std::string name;
  ValueId value = kNoValue;
  std::optional<std::variant<bool, int64_t, double>> literal;  ///< instead of a value
};

/// Nodes are in topological order. Ids of values stay valid until compact().
class Graph {
 public:
  explicit Graph(const OpTable& ops) : ops_(&ops) {}

  ValueId add_input(std::string name, DType dtype, const Shape& shape);
  ValueId add_constant(std::string name, DType dtype, const Shape& shape, ConstantData data);
  /// A constant that owns a copy of `bytes`.
  ValueId add_constant(std::string name, DType dtype, const Shape& shape, const void* bytes);
  /// A 0-dim constant of `dtype` with this value (converted).
  ValueId add_scalar(DType dtype, double value);

  /// Appends a node, finds its outputs' dtypes and shapes by the op's shape rule. The failure names
  /// the op, its operands and the source.
  Outcome<std::vector<ValueId>> add_node(const Attrs& attrs, const std::vector<ValueId>& inputs,
                                         const Source& source);
  /// add_node for an op with one output.
  Outcome<ValueId> add(const Attrs& attrs, const std::vector<ValueId>& inputs,
                       const Source& source);

  const OpTable& ops() const { return *ops_; }
  const Value& value(ValueId id) const { return values_[static_cast<size_t>(id)]; }
  Value& value(ValueId id) { return values_[static_cast<size_t>(id)]; }
  size_t value_count() const { return values_.size(); }
  const std::vector<Node>& nodes() const { return nodes_; }
  std::vector<Node>& nodes() { return nodes_; }
  const std::vector<ValueId>& inputs() const { return inputs_; }
  const std::vector<GraphOutput>& outputs() const { return outputs_; }
  std::vector<GraphOutput>& outputs() { return outputs_; }

  std::vector<SampleTensor> sample_inputs;
  std::vector<SampleTensor> sample_outputs;

 private:
  const OpTable* ops_;
  std::vector<Value> values_;
  std::vector<Node> nodes_;
  std::vector<ValueId> inputs_;
  std::vector<GraphOutput> outputs_;
};

}  // namespace lazyrt
